"""The base class of trained models that choose among candidates."""

from __future__ import annotations

from typing import Any, ClassVar

from widemargin.certificates.certificate import RunCertificate
from widemargin.modelfile import SavedModel
from widemargin.structured.choices.chooser import Chooser
from widemargin.training.history import History


class ChoiceModel(SavedModel):
    """A model around a chooser, without a mistake bound."""

    certificate: ClassVar[RunCertificate | None] = None

    chooser: Chooser

    @property
    def history(self) -> History:
        """The history of the training."""
        return self.chooser.history


def column_names(given: Any) -> tuple[str, ...]:
    """The column names in a file's description; a ValueError if they are not names."""
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        raise ValueError(f"{given!r:.40} are not column names")
    return tuple(given)
