"""Comparisons with the peers: the same data, the same run. `python -m benchmarks` runs them."""
