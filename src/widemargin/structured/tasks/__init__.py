"""Tasks in plain Python, for use and as examples to read."""

from widemargin.structured.tasks.alignment import Alignment
from widemargin.structured.tasks.constituents import Constituents
from widemargin.structured.tasks.matching import Matching
from widemargin.structured.tasks.reranking import Reranking
from widemargin.structured.tasks.tagging import Tagging

__all__ = ["Alignment", "Constituents", "Matching", "Reranking", "Tagging"]
