"""The verdict of `certify` on the points, as JSON for the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Bracket, Certificate, RunCertificate
from widemargin.separability.examples import certify_examples
from widemargin.web.lab.points import Placed


def certified(
    placed: Placed,
    bias: bool,
    kernel: Any = None,
    *,
    measured: bool = True,
    seconds: float | None = None,
) -> Any:
    """The certificate of the points, or of every pair of classes; None for fewer than two.

    Measuring the margin takes several times as long as the verdict alone. After `seconds` the
    certificate is "undecided".
    """
    if len(placed.present) < 2:
        return None
    how: dict[str, Any] = {"bias": bias, "kernel": kernel}
    if not measured:
        how["tol"] = None
    return certify_examples(placed.X, placed.codes, max_seconds=seconds, **how)


def compile_certify() -> None:
    """Make `certify` compile its loops, on points that are separable and on others."""
    X = np.array([[-1.0, 2.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, -2.0], [1.0, -1.0]])
    for y in ([0, 1, 1, 0, 0, 1], [0, 1, 0, 1, 0, 1]):
        for bias in (True, False):
            certify_examples(X, y, bias=bias)


def verdict_of(found: Any, placed: Placed) -> dict[str, Any] | None:
    """A certificate as JSON: its verdict, and what the page draws."""
    if found is None:
        return None
    if isinstance(found, Certificate):
        return _certificate_json(found, np.arange(len(placed.codes)), placed.present)
    parts = []
    for pair, part in found.parts.items():
        rows = np.flatnonzero(np.isin(placed.codes, pair))
        parts.append(_certificate_json(part, rows, placed.present[list(pair)]))
    return {"verdict": found.verdict, "parts": parts}


def _certificate_json(found: Certificate, rows: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """One certificate; `rows` are the points that it is about."""
    shown: dict[str, Any] = {
        "verdict": found.verdict,
        "classes": classes.tolist(),
        "found_by": found.found_by,
        "R": found.R,
        "constant": found.constant,
        "margin": bracket(found.margin),
        "extended": bracket(found.extended),
        "bound": finite(found.bound),
        "support": rows[found.support].tolist(),
        "examples": rows[found.examples].tolist(),
        "shares": [float(share) for share in found.shares],
        "fractions": [str(share) for share in found.shares],
    }
    if not found.gram:
        shown["separator"] = None if found.w is None else [*map(float, found.w), float(found.b)]
        best = found.extended_evidence
        shown["best"] = None if best is None else [*map(float, best.w), float(best.b)]
    return shown


def run_of(known: RunCertificate) -> dict[str, Any]:
    """The certificate of a training run, as JSON."""
    progress = known.progress
    return {
        "no_bound": known.no_bound,
        "R": known.R,
        "margin": None if known.margin is None else finite(known.margin),
        "gamma": bracket(known.gamma),
        "bound": None if known.bound is None else finite(known.bound),
        "hinge_bound": None if known.hinge_bound is None else finite(known.hinge_bound),
        "held": known.inequalities_held,
        "progress": None if progress is None else progress.tolist(),
    }


def bracket(found: Bracket | None) -> list[float | None] | None:
    """Two bounds; infinite ones become None."""
    return None if found is None else [finite(found.low), finite(found.high)]


def finite(value: float) -> float | None:
    """A number for JSON; None if it is not finite."""
    return float(value) if math.isfinite(value) else None
