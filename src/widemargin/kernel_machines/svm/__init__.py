"""Kernel SVMs: working sets, the cache of kernel rows, pairs of classes, Nystrom landmarks."""
