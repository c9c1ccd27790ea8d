"""How two sets of arrays differ."""

from __future__ import annotations

import numpy as np

from benchmarks.fingerprints.notes import Arrays


def is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def difference(a: np.ndarray | None, b: np.ndarray | None) -> str:
    """A short description of how two arrays differ; empty if they do not."""
    if a is None or b is None:
        return "missing before" if a is None else "missing after"
    if a.dtype.kind == b.dtype.kind == "U" and a.shape == b.shape:
        unlike = int(np.sum(a != b))
        return f"{unlike} of {a.size} differ" if unlike else ""
    if is_same(a, b):
        return ""
    if a.shape != b.shape:
        return f"shape {a.shape}, then {b.shape}"
    kind = "" if a.dtype == b.dtype else f"{a.dtype}, then {b.dtype}; "
    if "U" in (a.dtype.kind, b.dtype.kind):
        return kind + "not comparable"
    one, other = a.astype(np.float64), b.astype(np.float64)
    unlike = int(np.sum((one != other) & ~(np.isnan(one) & np.isnan(other))))
    with np.errstate(invalid="ignore"):
        gap = np.nanmax(np.abs(one - other), initial=0.0)
    size = np.nanmax(np.abs(one[np.isfinite(one)]), initial=0.0)
    return f"{kind}relative {gap / size if size else gap:.2g}, {unlike} of {a.size} values"


def tell_differences(before: Arrays, after: Arrays, everything: bool = False) -> int:
    """Print what differs; return the number of names that differ."""
    names = sorted(set(before) | set(after))
    found = {name: difference(before.get(name), after.get(name)) for name in names}
    width = max([len(name) for name in names if found[name] or everything] + [4])
    for name, how in found.items():
        if how or everything:
            print(f"{name:<{width}}  {how or 'equal'}")
    groups: dict[str, list[int]] = {}
    for name, how in found.items():
        counts = groups.setdefault(name.split("/")[0], [0, 0])
        counts[0] += 1
        counts[1] += bool(how)
    print(f"{'group':<24}{'names':>8}{'differ':>8}")
    for group, (total, unlike) in groups.items():
        print(f"{group:<24}{total:>8}{unlike:>8}")
    missing = sum(how.startswith("missing") for how in found.values())
    unlike = sum(bool(how) for how in found.values())
    print(
        f"{len(names)} names: {len(names) - unlike} equal bit for bit,"
        f" {unlike - missing} different, {missing} missing"
    )
    return unlike
