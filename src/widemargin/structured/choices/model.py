"""The base class of trained models that choose among candidates."""

from __future__ import annotations

from typing import ClassVar

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
