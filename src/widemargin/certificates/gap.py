"""The certificate of a linear SVM: primal, dual and their gap, recomputed from scratch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.loops.svm.recheck import rebuild_dense, rebuild_sparse, scores_dense, scores_sparse
from widemargin.markup.html import ShownAsLines
from widemargin.modelfile.checks import check_counts, check_kinds

#: A free bias needs sum y alpha = 0. Rounding may leave this fraction of sum alpha: some thousands
#: of units in the last place, as there may be many terms.
_ROUNDING = 1e-12
#: Number of dense rows multiplied at once, in float64: 4096 rows of 784 values are 26 MB.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class GapCertificate(ShownAsLines):
    """How far an SVM is from the optimum.

    The primal is the objective of the given weights. No weights have an objective below the dual,
    so the optimum is at most `gap` (a fraction of the primal) below the primal.

    Attributes
    ----------
    primal, dual : float
        Both objectives; their sums if each class is separated from the rest.
    gap : float
        (primal - dual) / primal, from 0 to 1.
    support_vectors : int
        The number of examples whose dual value is not zero.
    violation : float
        How far the worst example is from meeting the optimality conditions: the largest slope along
        which the dual could still increase, computed from the weights.
    margin : (float, float) or None
        With C = inf: the smallest distance of an example from the plane, and an upper bound on the
        margin of any separator. The first is 0 if no separator was found.
    parts : tuple of GapCertificate
        One per class, if every class is a separate problem.
    classes : tuple
        The classes of the parts.
    alpha : array or None
        The dual values from which all figures were computed. Model files do not store them.
    """

    primal: float
    dual: float
    gap: float
    support_vectors: int
    violation: float
    margin: tuple[float, float] | None = None
    parts: tuple[GapCertificate, ...] = ()
    classes: tuple[Any, ...] = ()
    alpha: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def support(self) -> np.ndarray:
        """The row numbers of the support vectors."""
        if self.alpha is None:
            raise AttributeError("the dual values are not kept in model files; fit again")
        used = self.alpha != 0.0
        return np.flatnonzero(used if used.ndim == 1 else used.any(axis=1))

    @property
    def separates(self) -> bool | None:
        """With C = inf, whether all examples are on the right side; otherwise None."""
        return None if self.margin is None else self.margin[0] > 0.0

    def __str__(self) -> str:
        lines = [
            f"primal {self.primal:.9g}, dual {self.dual:.9g}, relative gap {self.gap:.2g}",
            f"{self.support_vectors:,} support vectors, largest violation {self.violation:.2g}",
        ]
        if self.margin is not None:
            low, high = self.margin
            lines.append(
                f"separates with margin {low:.9g}; none has more than {high:.9g}"
                if low > 0.0
                else f"no separator with a margin above {high:.3g} exists;"
                " widemargin.certify decides whether there is one with a smaller margin"
            )
        names = self.classes or [f"class {c}" for c in range(len(self.parts))]
        for name, part in zip(names, self.parts, strict=True):
            lines.append(f"{name} against the rest: {str(part).splitlines()[0]}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the dual values as plain numbers, for JSON."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "alpha"}
        found["margin"] = None if self.margin is None else list(self.margin)
        found["parts"] = [part.to_dict() for part in self.parts]
        found["classes"] = list(self.classes)
        return found

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> GapCertificate:
        """Undo `to_dict`."""
        check_counts(found, "support_vectors")
        check_kinds(found, **dict.fromkeys(("primal", "dual", "gap", "violation"), float))
        margin, parts = found["margin"], tuple(cls.from_dict(part) for part in found["parts"])
        classes = tuple(found.get("classes", ()))
        if classes and len(classes) != len(parts):
            raise ValueError(f"a certificate of {len(parts)} parts for {len(classes)} classes")
        return cls(
            **{
                **found,
                "margin": None if margin is None else (float(margin[0]), float(margin[1])),
                "parts": parts,
                "classes": classes,
            }
        )


def together(parts: list[GapCertificate], classes: np.ndarray) -> GapCertificate:
    """Join the certificates of separate problems, one per class: their objectives add up."""
    if len(parts) == 1:
        return parts[0]
    primal, dual = sum(part.primal for part in parts), sum(part.dual for part in parts)
    alphas = [part.alpha for part in parts if part.alpha is not None]
    alpha = np.stack(alphas, axis=1) if len(alphas) == len(parts) else None
    used = 0 if alpha is None else int(np.count_nonzero((alpha != 0.0).any(axis=1)))
    if alpha is not None:  # each value is stored once
        parts = [replace(part, alpha=alpha[:, c]) for c, part in enumerate(parts)]
    margins = [part.margin for part in parts if part.margin is not None]
    return GapCertificate(
        primal,
        dual,
        relative(primal, dual),
        used,
        max(part.violation for part in parts),
        (min(low for low, _ in margins), min(high for _, high in margins)) if margins else None,
        tuple(parts),
        tuple(classes.tolist()),
        alpha,
    )


class BinaryObjective(NamedTuple):
    """A two-class problem to certify: y in {-1, +1}, and the cost C_i of every row."""

    rows: Rows
    y: np.ndarray
    costs: np.ndarray
    squared: bool
    free_bias: bool


def relative(primal: float, dual: float) -> float:
    """Return the gap as a fraction of the primal; 1 if the primal is infinite."""
    if not math.isfinite(primal):
        return 1.0
    return max(0.0, (primal - dual) / primal) if primal > 0.0 else 0.0


def weights_of(rows: Rows, amounts: np.ndarray) -> np.ndarray:
    """Return sum_i amounts_i x_i in float64, with the weight of the constant feature last."""
    w = np.empty(rows.width + 1)
    amounts = np.ascontiguousarray(amounts, np.float64)
    rebuild: Any = rebuild_sparse if rows.is_sparse else rebuild_dense
    rebuild(*rows.stored, amounts, w)
    return w


def scores_of(rows: Rows, w: np.ndarray) -> np.ndarray:
    """Return w.x for every row, in float64."""
    out = np.empty(rows.n)
    score: Any = scores_sparse if rows.is_sparse else scores_dense
    score(*rows.stored, w, out)
    return out


def longest_row(rows: Rows) -> float:
    """Return the length of the longest row, including the constant feature."""
    matrix = rows.to_matrix()
    squares = matrix.multiply(matrix) if rows.is_sparse else np.square(matrix, dtype=np.float64)
    lengths = np.asarray(squares.sum(axis=1, dtype=np.float64))
    return math.sqrt(float(np.max(lengths, initial=0.0)) + rows.bias**2)


def measure_binary(
    problem: BinaryObjective, alpha: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float, GapCertificate]:
    """Recompute the weights, the free bias (or 0) and the certificate from dual values.

    With infinite costs (the hard margin), weights that separate the classes are scaled so that the
    smallest margin is 1.

    Parameters
    ----------
    problem : BinaryObjective
        What was solved.
    alpha : array
        The dual values.
    weights : array, optional
        The weights to certify; by default those given by the dual values. If weights are given, the
        costs must be finite.
    """
    made = weights_of(problem.rows, alpha * problem.y)
    w = made if weights is None else weights
    return _measured(problem, alpha, made, w, scores_of(problem.rows, w))


def measure_classes(
    problems: list[BinaryObjective], alphas: np.ndarray, weights: np.ndarray | None = None
) -> list[tuple[np.ndarray, GapCertificate]]:
    """Compute the weights and the certificates of several problems with the same rows.

    Parameters
    ----------
    problems : list of BinaryObjective
        The problems, none with a free bias.
    alphas : array (problems, rows)
        Their dual values.
    weights : array (problems, features + 1)
        The weights to certify, with that of the constant feature last; None for those given by the
        dual values.
    """
    rows = problems[0].rows
    V = weights_of_classes(rows, alphas * np.stack([each.y for each in problems]))
    W = V if weights is None else weights
    return [
        (w, _measured(problem, alpha, v, w, scores)[2])
        for problem, alpha, v, w, scores in zip(
            problems, alphas, V, W, scores_of_classes(rows, W), strict=True
        )
    ]


def weights_of_classes(rows: Rows, amounts: np.ndarray) -> np.ndarray:
    """Return W = amounts X in float64, with the weight of the constant feature last."""
    if rows.is_sparse:
        return np.stack([weights_of(rows, each) for each in amounts])
    W = np.zeros((len(amounts), rows.width + 1))
    for part in _parts(rows.n):
        W[:, :-1] += amounts[:, part] @ rows.stored.values[part].astype(np.float64, copy=False)
    W[:, -1] = rows.bias * amounts.sum(axis=1)
    return W


def scores_of_classes(rows: Rows, W: np.ndarray) -> np.ndarray:
    """Return W X', in float64."""
    if rows.is_sparse:
        return np.stack([scores_of(rows, w) for w in W])
    scores = np.empty((len(W), rows.n))
    for part in _parts(rows.n):
        X = rows.stored.values[part].astype(np.float64, copy=False)
        np.matmul(W[:, :-1], X.T, out=scores[:, part])
    scores += rows.bias * W[:, -1:]
    return scores


def _parts(n: int) -> list[slice]:
    """Cut n rows into pieces."""
    return [slice(at, at + _ROWS_AT_ONCE) for at in range(0, n, _ROWS_AT_ONCE)]


@np.errstate(over="ignore")  # an objective too large for a float is infinite
def _measured(
    problem: BinaryObjective,
    alpha: np.ndarray,
    made: np.ndarray,
    w: np.ndarray,
    scores: np.ndarray,
) -> tuple[np.ndarray, float, GapCertificate]:
    """Compute the certificate of weights w with these scores.

    The dual values and the weights `made` from them bound the objective from below; w may be the
    same as `made`.
    """
    rows, y, costs, squared, free_bias = problem
    b = best_bias(scores, y, costs, squared) if free_bias else 0.0
    margins = y * (scores + b)
    counted = costs > 0.0
    hard = bool(np.any(np.isinf(costs)))
    length, total = float(made @ made), float(np.sum(alpha))
    slope = 1.0 - margins
    if squared and not hard:
        soft = np.divide(0.5, costs, out=np.zeros(len(costs)), where=counted)
        slope = slope - soft * alpha
        dual = total - 0.5 * (length + float(np.sum(soft * alpha**2)))
    else:
        dual = total - 0.5 * length
    unbalanced = abs(float(alpha @ y)) if free_bias else 0.0
    balanced = unbalanced <= _ROUNDING * total
    if not balanced:
        dual = -math.inf
    can_grow = counted & (alpha < (np.inf if squared else costs))
    violation = max(
        float(np.max(slope[can_grow], initial=0.0)),
        float(np.max(-slope[alpha > 0.0], initial=0.0)),
    )
    margin = None
    if hard:
        # For any alpha >= 0 a unit separator u with bias b has
        # gamma sum alpha <= u . w + b sum alpha y <= |w| + R |sum alpha y|.
        worst = float(np.min(margins[counted], initial=np.inf))
        bound = math.inf
        if total > 0.0:
            rounding = (np.count_nonzero(alpha) + 2) * np.finfo(np.float64).eps
            rounding += unbalanced / total
            bound = math.sqrt(length) / total + rounding * longest_row(rows)
        if worst > 0.0 and length > 0.0:
            margin = worst / math.sqrt(length), bound
            # The best multiple of alpha, and w such that all margins are at least 1.
            primal = 0.5 * length / worst**2
            dual = 0.5 * total**2 / length if balanced else dual
            w, b = w / worst, b / worst
        else:
            margin, primal = (0.0, bound), math.inf
    else:
        short = np.maximum(0.0, 1.0 - margins)[counted]
        primal = 0.5 * float(w @ w) + float(costs[counted] @ (short**2 if squared else short))
    found = GapCertificate(
        primal,
        dual,
        relative(primal, dual),
        int(np.count_nonzero(alpha)),
        violation,
        margin,
        alpha=alpha,
    )
    return w, b, found


def measure_joint(
    rows: Rows,
    y: np.ndarray,
    costs: np.ndarray,
    alpha: np.ndarray,
    own: np.ndarray | None = None,
) -> tuple[np.ndarray, GapCertificate]:
    """Recompute the weights and certificate of all classes learned together (Crammer and Singer).

    Parameters
    ----------
    rows, y, costs
        The examples, their classes 0 ... k - 1, and the cost of an error on each.
    alpha : array (n, k)
        The dual values.
    own : array (k, d + 1), optional
        Weights to certify in place of those computed from the dual values.
    """
    each, amounts = np.arange(rows.n), np.ascontiguousarray(alpha.T)
    made = weights_of_classes(rows, amounts)
    W = made if own is None else own
    slopes = scores_of_classes(rows, W)
    slopes += 1.0
    slopes[y, each] -= 1.0
    top = slopes.max(axis=0)
    primal = 0.5 * float(np.sum(W * W)) + float(costs @ (top - slopes[y, each]))
    dual = float(amounts[y, each].sum()) - 0.5 * float(np.sum(made * made))
    used = (amounts != 0.0).any(axis=0)
    amounts[y, each] -= costs
    slopes[amounts >= 0.0] = np.inf  # these cannot grow
    found = GapCertificate(
        primal,
        dual,
        relative(primal, dual),
        int(np.count_nonzero(used)),
        float(np.max((top - slopes.min(axis=0))[costs > 0.0], initial=0.0)),
        alpha=alpha,
    )
    return W, found


def best_bias(scores: np.ndarray, y: np.ndarray, costs: np.ndarray, squared: bool) -> float:
    """Return the b that minimises sum_i C_i loss(1 - y_i (s_i + b)), by bisection of its slope.

    With infinite costs this is the midpoint between the two classes.
    """
    counted = costs > 0.0
    scores, signs, costs = scores[counted], y[counted].astype(np.float64), costs[counted]
    edges = np.sort(signs - scores)  # where an example's loss begins
    if np.any(np.isinf(costs)):
        nearest = np.min(scores[signs > 0], initial=np.inf)
        farthest = np.max(scores[signs < 0], initial=-np.inf)
        middle = -(nearest + farthest) / 2.0
        return float(middle) if math.isfinite(middle) else 0.0

    def cost(b: float) -> float:
        short = np.maximum(0.0, 1.0 - signs * (scores + b))
        return float(costs @ (short**2 if squared else short))

    def slope(b: float) -> float:
        short = 1.0 - signs * (scores + b)
        size = 2.0 * np.maximum(short, 0.0) if squared else (short > 0.0).astype(np.float64)
        return -float(np.sum(costs * signs * size))

    low, high = 0, len(edges) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if slope(edges[middle]) < 0.0 else (low, middle)
    choices = [float(edges[low]), float(edges[high])]
    if squared:  # the slope is linear between two edges
        left, right = slope(choices[0]), slope(choices[1])
        if left < 0.0 < right:
            choices.append(choices[0] + left / (left - right) * (choices[1] - choices[0]))
    return min(choices, key=cost)
