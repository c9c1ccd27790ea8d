"""Comparisons with other libraries on the same data, in the same run: `python -m benchmarks`."""
