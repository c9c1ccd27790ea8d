"""The mistake bound of structured training: (R / gamma)^2 for feature differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Bracket, RunCertificate, mistake_bound
from widemargin.certificates.theorem import BRANCHED
from widemargin.structured.task import Task, count_features
from widemargin.structured.weights import Weights, difference_of, dot, norm
from widemargin.training.history import History


def certify_run(
    task: Task,
    weights: Weights,
    history: History,
    longest: float,
    no_bound: str,
    separator: Mapping[str, float] | None,
    examples: list[tuple[Any, Any]],
) -> RunCertificate:
    """Certify a training by the mistake bound.

    The theorem (Collins 2002): if |f(x, y) - f(x, y*)| <= R for all wrong answers y* that were
    predicted, and some unit vector u has u . (f(x, y) - f(x, y*)) >= gamma for all of them, then
    there were at most (R / gamma)^2 such mistakes.

    Parameters
    ----------
    longest : float
        R, as observed during training.
    no_bound : str
        Why the theorem does not apply; empty if it does.
    separator : dict
        u, of any norm; by default the last weights.
    examples : list of (x, y)
        Measure gamma over all wrong candidates of these and over the log; without any, over the
        log alone.
    """
    no_bound = no_bound or _why_no_bound(weights, history, bool(examples))
    found: dict[str, Any] = {
        "mistakes": history.mistakes,
        "epochs": history.epochs_run,
        "R": longest,
        "n": history.epochs[-1].examples if len(history) else None,
    }
    # A beam also compares parts of answers, which are in the log and not among the candidates.
    differences = [c.difference for c in weights.log] + _differences(task, examples)
    if not differences:
        no_bound = no_bound or "no feature differences were recorded: use log=True"
        return RunCertificate(**found, no_bound=no_bound)
    found["R"] = max(longest, max(map(norm, differences)))
    own = _margin(weights.last, differences)
    gamma = own if separator is None else _margin(separator, differences)
    found["margin"] = found["extended_margin"] = own
    if no_bound or not gamma > 0.0:
        why = no_bound or "these weights do not rank every right answer first"
        return RunCertificate(**found, no_bound=why)
    # No unit vector has a larger margin than the norm of the shortest difference.
    cap = min(map(norm, differences))
    unit = dict(weights.last if separator is None else separator)
    return RunCertificate(
        **found,
        gamma=Bracket(gamma, max(gamma, cap)),
        bound=mistake_bound(found["R"], gamma),
        progress=_progress(weights, unit, gamma, found["R"]),
    )


def _why_no_bound(weights: Weights, history: History, has_examples: bool) -> str:
    """Return why the log or the history leaves no bound; empty if there is one."""
    if history.branched(weights.count - 1):
        return BRANCHED
    if has_examples:
        return ""
    if history.went_back:
        return "the log ends at the epoch whose weights were returned; give the training examples"
    if weights.log and len(weights.log) < history.mistakes:
        # Not corrected, because right and wrong answer had the same features; or not recorded.
        return (
            f"only {len(weights.log)} of {history.mistakes} mistakes are in the log: some wrong"
            " answers had the features of the right ones, or log=True was not set all the time"
        )
    return ""


def _differences(task: Task, examples: list[tuple[Any, Any]]) -> list[dict[str, float]]:
    """f(x, y) - f(x, y') for all wrong candidates y'."""
    found = []
    for x, y in examples:
        right = count_features(task.features(x, y))
        wrong = [other for other in task.candidates(x) if other != y]
        found += [difference_of(right, count_features(task.features(x, one))) for one in wrong]
    return found


def _margin(weights: Mapping[str, float], differences: list[dict[str, float]]) -> float:
    length = norm(weights)
    if length == 0.0:
        return 0.0
    return min(dot(difference, weights) for difference in differences) / length


def _progress(
    weights: Weights, separator: Mapping[str, float], gamma: float, R: float
) -> np.ndarray | None:
    """Both sides of both inequalities of the proof after each correction, in units of eta."""
    if not weights.log:
        return None
    length, rows = norm(separator), []
    current: dict[str, float] = {}
    along = square = 0.0
    for k, correction in enumerate(weights.log, 1):
        difference = correction.difference
        square += 2.0 * dot(difference, current) + dot(difference, difference)
        along += dot(difference, separator) / length
        for name, value in difference.items():
            current[name] = current.get(name, 0.0) + value
        rows.append((along, k * gamma, square, k * R * R))
    return np.array(rows)
