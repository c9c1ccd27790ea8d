"""A trained kernel SVM: one machine for two classes, else one a pair of classes or one a class."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate
from widemargin.errors import DataError
from widemargin.kernels.blocks import add_near, block, check_values, is_near
from widemargin.models.kernel import KernelModel, combine
from widemargin.online.scores import best_class
from widemargin.threads import one_blas_thread, run_all

#: Examples that are answered together.
_TOGETHER = 1024


@dataclass(frozen=True)
class KernelSVMModel(KernelModel):
    """A `KernelModel` whose scores are those of machines, which may be about pairs of classes.

    `coef` has a column for every machine. The machine of classes a < b is positive for a; that of
    the only two classes is positive for the second, and that of one against the rest for the one.

    Attributes
    ----------
    pairs : bool
        Whether there is a machine for every pair of at least three classes.
    support_sizes : array
        How many examples of every class are in `support`, which is in the order of classes.
    shape : {"ovr", "ovo"}
        Whether `decision_function` gives a score for every class, or one for every pair.
    worth : KernelCertificate or None
        What the machines are worth.
    """

    pairs: bool = False
    support_sizes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    shape: str = "ovr"
    worth: KernelCertificate | None = None

    @property
    def certificate(self) -> KernelCertificate | None:  # type: ignore[override]
        """What the machines are worth."""
        return self.worth

    @property
    def dual_coef(self) -> np.ndarray:
        """What each support vector (column) adds to the machines that it has a part in.

        Of pairs, row r is its machine with the r-th of the other classes.
        """
        if not self.pairs:
            return self.coef.T
        count = len(self.classes)
        own = np.repeat(np.arange(count), self.support_sizes)
        found = np.zeros((count - 1, len(own)))
        for column, (a, b) in enumerate(combinations(range(count), 2)):
            found[b - 1, own == a] = self.coef[own == a, column]
            found[a, own == b] = self.coef[own == b, column]
        return found

    def machine_scores(self, X: Any, threads: int = 1) -> np.ndarray:
        """The score of every machine (columns) on every example.

        However many examples there are, kernel values take some megabytes a thread at a time.
        """
        points = self.points(X)
        support, columns = self.meeting(points)
        found = np.empty((points.n, self.coef.shape[1]))
        near = is_near(self.kernel, support, points)
        together = _TOGETHER // 4 if near else _TOGETHER
        weights = np.ascontiguousarray(self.coef.T, support.dtype)

        def answer(begin: int) -> None:
            which = slice(begin, begin + together)
            part = points.take(which) if columns is None else points.keep(columns, which)
            if near:
                scores = np.zeros((found.shape[1], part.n))
                add_near(self.kernel, support, part, weights, scores)
            else:
                scores = combine(self.kernel, self.coef, support, part)
            found[which] = scores.T

        with one_blas_thread():
            run_all(answer, range(0, points.n, together), threads)
        found += self.intercept
        if not np.all(np.isfinite(found)):
            row = int(np.argmin(np.all(np.isfinite(found), axis=1)))
            alone = points.take(np.array([row]))
            check_values(block(self.kernel, alone, self.support), alone, self.support)
            raise DataError(f"row {row}: its score is too large for a float; scale the features")
        return found

    def decision_function(self, X: Any, threads: int = 1) -> np.ndarray:
        """One score a row for two classes (positive: the second), else one a row and class.

        Of pairs, the score of a class is the number of its wins and, to break ties, a fraction
        that grows with how clear they are. With `shape="ovo"` the scores of the pairs themselves.
        """
        scores = self.machine_scores(X, threads)
        if self.pairs:
            return scores if self.shape == "ovo" else votes_of_pairs(scores, len(self.classes))
        return scores[:, 0] if len(self.classes) == 2 else scores

    def predict(self, X: Any, threads: int = 1) -> np.ndarray:
        """The label of every row. Ties go to the second of two classes, to the first of several."""
        scores = self.machine_scores(X, threads)
        if self.pairs:
            scores = votes_of_pairs(scores, len(self.classes))
        return self.classes[best_class(scores[:, 0] if len(self.classes) == 2 else scores)]

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and description, as they go into a file."""
        arrays, about = super().contents()
        arrays["support.sizes"] = self.support_sizes
        worth = None if self.worth is None else self.worth.to_dict()
        more = {"model": "kernel svm", "pairs": self.pairs, "shape": self.shape, "worth": worth}
        return arrays, about | more

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> KernelSVMModel:
        """Undo `contents`."""
        plain = KernelModel.of(arrays, about)
        worth = None if about["worth"] is None else KernelCertificate.from_dict(about["worth"])
        return cls(
            **vars(plain),
            pairs=about["pairs"],
            support_sizes=arrays["support.sizes"],
            shape=about["shape"],
            worth=worth,
        )


def votes_of_pairs(scores: np.ndarray, classes: int) -> np.ndarray:
    """Scores of classes from those of pairs: wins, and less than half a win for how clear they are.

    (The form that scikit-learn gives them.)
    """
    votes, sums = np.zeros((len(scores), classes)), np.zeros((len(scores), classes))
    for column, (a, b) in enumerate(combinations(range(classes), 2)):
        score = scores[:, column]
        sums[:, a] += score
        sums[:, b] -= score
        first = score >= 0.0
        votes[first, a] += 1.0
        votes[~first, b] += 1.0
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))
