"""Compare learners on the same examples: which differences are significant, and at what cost."""

from widemargin.comparison.compare_learners import compare
from widemargin.comparison.paired import Pair
from widemargin.comparison.results import Comparison, Entry

__all__ = ["Comparison", "Entry", "Pair", "compare"]
