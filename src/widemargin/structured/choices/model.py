"""The base class of trained models that choose among candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from widemargin.certificates.certificate import RunCertificate
from widemargin.structured.choices.chooser import Chooser
from widemargin.structured.saved import SentenceModel
from widemargin.structured.sparse_rows import SMALL_BITS, SMALL_SHARE
from widemargin.training.history import History


@dataclass(frozen=True, eq=False)
class ChoiceModel(SentenceModel):
    """A model around a chooser, without a mistake bound."""

    certificate: ClassVar[RunCertificate | None] = None

    chooser: Chooser

    @property
    def history(self) -> History:
        """The history of the training."""
        return self.chooser.history

    def smaller(self, bits: int = SMALL_BITS, share: float = SMALL_SHARE) -> Self:
        """A model whose file is smaller, see `TaggerModel.smaller`."""
        return replace(self, chooser=self.chooser.smaller(bits, share))
