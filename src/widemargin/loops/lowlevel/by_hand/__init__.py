"""Low-level pieces that are written by hand in LLVM; only the compiler needs them."""

from widemargin.loops.lowlevel.by_hand import (
    avalanche,
    bit_counts,
    byte_blocks,
    hash_chains,
    lanes,
    panel_products,
    prefetch,
    vectors,
)

__all__ = [
    "avalanche",
    "bit_counts",
    "byte_blocks",
    "hash_chains",
    "lanes",
    "panel_products",
    "prefetch",
    "vectors",
]
