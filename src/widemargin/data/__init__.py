"""Examples: rows, labels, data sets from files, the cache, `read` and `stream`."""
