"""Choose among a few candidates, such as the n-best translations of another program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from widemargin.structured.task import Task


class Reranking(Task):
    """Choose the best of several candidates.

    x is a list of candidates, each a dict of its features by name; y is the index of the best one,
    from 0.

    Examples
    --------
    >>> from widemargin.structured import StructuredPerceptron
    >>> x = [{"model": -2.5, "length": 4.0}, {"model": -3.0, "length": 6.0}]
    >>> StructuredPerceptron(Reranking()).fit([x], [1]).predict([x])
    [1]
    """

    def features(self, x: Sequence[Mapping[str, float]], y: int) -> Mapping[str, float]:
        """The features of a candidate, as given."""
        return x[y]

    def candidates(self, x: Sequence[Mapping[str, float]]) -> Iterable[int]:
        """The indices of all candidates."""
        return range(len(x))
