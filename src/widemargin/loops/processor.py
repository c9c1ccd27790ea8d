"""The target of compilation: this processor, or one of those that a release is compiled for."""

from __future__ import annotations

from typing import NamedTuple


class Processor(NamedTuple):
    """A kind of processor, as LLVM names it, and what it can and cannot do ("+avx2,-avx512f")."""

    name: str
    features: str

    def has(self, *wanted: str) -> bool:
        """Whether it has all of these features."""
        return {f"+{feature}" for feature in wanted} <= set(self.features.split(","))

    def runs(self, target: Processor) -> bool:
        """Whether it can run code compiled for another processor."""
        return self.has(*(feature[1:] for feature in target.features.split(",")))


def this_processor() -> Processor:
    """The processor that numba compiles for here."""
    import llvmlite.binding
    import numba
    from numba.core.codegen import get_host_cpu_features

    name, features = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return Processor(
        llvmlite.binding.get_host_cpu_name() if name is None else name,
        get_host_cpu_features() if features is None else features,
    )


_BASELINE = "+cmov,+cx8,+fxsr,+mmx,+sse,+sse2"
_V3 = (
    "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,"
    "+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)
#: What the wheels of a release hold machine code for, the fastest first.
RELEASED = (Processor("x86-64-v3", f"{_BASELINE},{_V3}"), Processor("x86-64", _BASELINE))
