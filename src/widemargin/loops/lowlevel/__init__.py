"""Hand-written LLVM: vectors, prefetches, packed products."""
