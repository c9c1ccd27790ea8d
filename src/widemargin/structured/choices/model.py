"""What trained models that choose among candidates share."""

from __future__ import annotations

from typing import ClassVar

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
