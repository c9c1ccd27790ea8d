"""What trained models that choose among candidates share."""

from __future__ import annotations

from typing import Any, ClassVar

from widemargin.certificates.certificate import RunCertificate
from widemargin.modelfile import SavedModel
from widemargin.structured.choices.chooser import Chooser
from widemargin.training.history import History


class ChoiceModel(SavedModel):
    """A model around a chooser; no theorem bounds its mistakes."""

    certificate: ClassVar[RunCertificate | None] = None

    chooser: Chooser

    @property
    def history(self) -> History:
        """How it was learned."""
        return self.chooser.history


def column_names(given: Any) -> tuple[str, ...]:
    """The names of columns in a description; a ValueError if they are none."""
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        raise ValueError(f"{given!r:.40} are not names of columns")
    return tuple(given)
