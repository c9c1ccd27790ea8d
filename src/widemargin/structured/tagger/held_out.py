"""The score of a tagger on held-out sentences during training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.structured.spans import measure_spans
from widemargin.structured.tagger.model import TaggerModel, share_right


class HeldOutTags:
    """Scores weights on held-out sentences, by spans if the tags are span tags."""

    def __init__(self, model: TaggerModel, corpus: Corpus, tags: list[str]) -> None:
        self.model, self.corpus, self.tags = model, corpus, tags

    def score(self, weights: np.ndarray) -> float:
        """F1 of spans, or the share of tags that are right."""
        model = replace(self.model, W=weights)
        found = model.flat_tags(self.corpus)
        if model.scheme is not None:
            return float(measure_spans(self.tags, found, self.corpus.starts).overall.f1)
        return share_right(found, self.tags)
