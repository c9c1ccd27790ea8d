"""Memory that was freed: given back in streams, used again on workers of Dask."""

import os
import subprocess
import sys

import numpy as np
import pytest

from widemargin.data.memory import give_back_large_arrays

#: Prints how many pages a thousand arrays of a megabyte had to be given, one after the other.
PAGES = """
import resource
from widemargin.data.memory import keep_memory_on_dask_workers
keep_memory_on_dask_workers({limit})
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(1000):
    bytearray(1 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_large_arrays_are_given_back():
    give_back_large_arrays()  # wherever this runs, it must not fail
    assert np.ones(1 << 20).sum() == 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
@pytest.mark.parametrize(
    ("threshold", "limit", "used_again"),
    [("65536", None, True), ("65536", 1 << 25, False), ("65537", None, False)],
    ids=["as Dask starts workers", "with a small memory limit", "as somebody chose"],
)
def test_workers_of_dask_use_memory_again(threshold, limit, used_again):
    variables = {**os.environ, "MALLOC_TRIM_THRESHOLD_": threshold}
    told = subprocess.run(
        [sys.executable, "-c", PAGES.format(limit=limit)],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = int(told.stdout)
    assert (pages < 1000) if used_again else (pages > 100_000)
