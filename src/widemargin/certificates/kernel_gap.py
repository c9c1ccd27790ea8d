"""The certificate of a kernel SVM: primal, dual, gap and margin in feature space."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from widemargin.certificates.gap import relative
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.modelfile.packing import pack_value, unpack_value


@dataclass(frozen=True)
class LowRank:
    """How well features from a few landmarks approximate the kernel.

    Attributes
    ----------
    landmarks, rank : int
        The number of examples that span the subspace that was used, and its dimension.
    mean, worst : float
        The squared distance in feature space of an example from that subspace, as a fraction of
        its squared length: over all examples together, and for the worst example.
    """

    landmarks: int
    rank: int
    mean: float
    worst: float


@dataclass(frozen=True)
class KernelCertificate:
    """How far a kernel SVM is from the optimum.

    All figures are about the kernel values as they were computed, in the precision of the data.

    Attributes
    ----------
    primal, dual : float
        Both objectives. The primal is that of the deployed model, bias included; no model has an
        objective below the dual. With several problems, the sums over them.
    gap : float
        (primal - dual) / primal.
    violation : float
        The largest violation of the optimality conditions, as LIBSVM measures it.
    support_vectors, bounded : int
        The number of examples whose dual value is not zero, and of those at their upper bound.
    margin : float
        The distance in feature space from the plane at which the score is 1 or -1: 1 / |w|. With
        several problems, the smallest. With C = inf, the distance of the nearest example; 0 if no
        separator was found.
    bound : float or None
        With C = inf: no plane has a larger margin than this.
    labels : tuple
        The two classes; the second is None if it stands for all the others.
    parts : tuple of KernelCertificate
        One per problem, if there are several.
    proved : bool
        With C = inf: whether a few of the examples prove, in the exact arithmetic of `certify` on
        their kernel values, that nothing separates them.
    low_rank : LowRank or None
        Set if the model was trained on an approximation of the kernel; the objectives are then
        those of the approximation.
    """

    primal: float
    dual: float
    gap: float
    violation: float
    support_vectors: int
    bounded: int
    margin: float
    bound: float | None = None
    labels: tuple[Any, ...] = ()
    parts: tuple[KernelCertificate, ...] = ()
    proved: bool = False
    low_rank: LowRank | None = None

    @property
    def separates(self) -> bool | None:
        """With C = inf, whether all examples are on the right side; otherwise None."""
        return None if self.bound is None else self.margin > 0.0

    @property
    def problem(self) -> str:
        """The two classes in words; only parts have them."""
        first, second = self.labels
        return f"{first} against {'the rest' if second is None else second}"

    def __str__(self) -> str:
        lines = [
            f"primal {self.primal:.9g}, dual {self.dual:.9g}, relative gap {self.gap:.2g}",
            f"{self.support_vectors:,} support vectors, {self.bounded:,} at their bounds,"
            f" largest violation {self.violation:.2g}",
        ]
        if self.bound is None:
            lines.append(f"margin in feature space {self.margin:.6g}")
        elif self.margin > 0.0:
            lines.append(
                f"separates with margin {self.margin:.9g}; none has more than {self.bound:.9g}"
            )
        elif self.proved:
            lines.append("no separator exists in feature space, as some of the examples prove")
        else:
            lines.append(
                f"no separator with a margin above {self.bound:.3g} exists in feature space;"
                " widemargin.certify(X, y, kernel=..., bias=True) also looks for smaller margins"
            )
        if self.low_rank is not None:
            lines.append(
                f"trained on {self.low_rank.landmarks} landmarks (rank {self.low_rank.rank}), which"
                f" miss {self.low_rank.mean:.2g} of the kernel"
                f" ({self.low_rank.worst:.2g} of the worst example)"
            )
        lines += [f"{part.problem}: {str(part).splitlines()[0]}" for part in self.parts]
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, for JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        found["labels"] = pack_value(list(self.labels))
        found["parts"] = [part.to_dict() for part in self.parts]
        found["low_rank"] = None if self.low_rank is None else asdict(self.low_rank)
        return found

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> KernelCertificate:
        """Undo `to_dict`."""
        check_counts(found, "support_vectors", "bounded")
        numbers = ("primal", "dual", "gap", "violation", "margin")
        check_kinds(found, **dict.fromkeys(numbers, float), bound=float | None, proved=bool)
        low_rank = None if found["low_rank"] is None else LowRank(**found["low_rank"])
        if low_rank is not None:
            check_counts(vars(low_rank), "landmarks", "rank")
            check_kinds(vars(low_rank), mean=float, worst=float)
        parts = tuple(cls.from_dict(part) for part in found["parts"])
        if any(len(part.labels) != 2 for part in parts):
            raise ValueError("a part of the certificate does not name two classes")
        return cls(
            **{
                **found,
                "labels": tuple(unpack_value(found["labels"])),
                "parts": parts,
                "low_rank": low_rank,
            }
        )


def add_up(parts: list[KernelCertificate], support_vectors: int) -> KernelCertificate:
    """Join the certificates of separate problems: their objectives add up."""
    if len(parts) == 1:
        return parts[0]
    primal, dual = sum(part.primal for part in parts), sum(part.dual for part in parts)
    bounds = [part.bound for part in parts if part.bound is not None]
    return KernelCertificate(
        primal,
        dual,
        relative(primal, dual),
        max(part.violation for part in parts),
        support_vectors,
        sum(part.bounded for part in parts),
        min(part.margin for part in parts),
        min(bounds) if bounds else None,
        parts=tuple(parts),
        proved=any(part.proved for part in parts),
    )


def certificate_of(
    length: float,
    total: float,
    loss: float,
    used: int,
    bounded: int,
    violation: float,
    labels: tuple[Any, ...] = (),
) -> KernelCertificate:
    """Return the certificate of a soft-margin machine.

    `length` is w.w in feature space, `total` the sum of the dual values, and `loss` the sum of the
    errors, each times its cost.
    """
    primal, dual = 0.5 * length + loss, total - 0.5 * length
    margin = 1.0 / math.sqrt(length) if length > 0.0 else math.inf
    gap = relative(primal, dual)
    return KernelCertificate(primal, dual, gap, violation, used, bounded, margin, labels=labels)


@np.errstate(over="ignore", invalid="ignore")
def measure_machine(
    y: np.ndarray,
    cost: np.ndarray,
    beta: np.ndarray,
    scores: np.ndarray,
    b: float,
    violation: float,
    longest: float,
) -> tuple[float, float, KernelCertificate]:
    """Compute the certificate of dual values, given their scores sum_j beta_j K_ij.

    With infinite costs (the hard margin), a machine that separates the classes is scaled so that
    the smallest margin is 1. It separates them if all scores are further from the plane than their
    rounding errors: if nothing separates, dual values grow until the errors hide everything else.

    Parameters
    ----------
    y, cost, beta, scores : arrays
        Signs, costs, signed dual values, and scores without the bias.
    b, violation, longest : float
        The bias, the largest violation, and the length of the longest example in feature space.

    Returns
    -------
    scale, b, certificate
        The factor for the dual values, the bias after scaling, and the certificate.
    """
    length = max(0.0, float(beta @ scores))
    total = float(np.abs(beta).sum())
    dual = total - 0.5 * length
    used = int(np.count_nonzero(beta))
    bounded = int(np.count_nonzero((np.abs(beta) >= cost) & (beta != 0.0)))
    if not np.any(np.isinf(cost)):
        short = np.maximum(0.0, 1.0 - y * (scores + b))
        loss = float(cost @ short)
        return 1.0, b, certificate_of(length, total, loss, used, bounded, violation)
    if np.all(y == y[0]):  # the other class has no weight: w = 0 and b = 1 or -1 are enough
        found = KernelCertificate(0.0, 0.0, 0.0, violation, used, bounded, math.inf, math.inf)
        return 1.0, float(y[0]), found
    nearest = float(np.min(scores[y > 0], initial=math.inf))
    farthest = float(np.max(scores[y < 0], initial=-math.inf))
    worst, b = 0.5 * (nearest - farthest), -0.5 * (nearest + farthest)
    # A score, divided by sum alpha, is rounded by at most this.
    rounding = (used + 2) * np.finfo(np.float64).eps * longest**2
    # Any unit separator u has gamma sum alpha <= u . w <= |w|.
    bound = math.inf
    if total > 0.0:  # a hypotenuse neither overflows nor underflows
        bound = math.hypot(math.sqrt(length) / total, math.sqrt(rounding))
    if not (worst > rounding * total and length > 0.0 and math.isfinite(worst)):
        b = b if math.isfinite(b) else 0.0
        found = KernelCertificate(math.inf, dual, 1.0, violation, used, bounded, 0.0, bound)
        return 1.0, b, found
    primal, dual = 0.5 * length / (worst * worst), 0.5 * total * (total / length)
    found = KernelCertificate(
        primal,
        dual,
        relative(primal, dual),
        violation,
        used,
        bounded,
        worst / math.sqrt(length),
        bound,
    )
    return 1.0 / worst, b / worst, found
