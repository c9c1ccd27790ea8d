"""Numbers columns that occur as 1, 2, 3, ... in order of first appearance.

An open-addressing table maps a column to its number. A slot holds a number, `ids` the column of
each number; 0 marks an empty slot, and is the number of every column that never occurred.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

#: 2^64 divided by the golden ratio: the upper bits of its multiples spread columns over the slots.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_0, _1 = np.uint64(0), np.uint64(1)


@jit()
def number_columns(columns, start, ids, table, shift, count, numbers):
    """Number columns from `start` on; new ones are added to `ids` and `table`.

    Stops when `ids` is full. Returns the position reached, and the number of numbers in use. The
    slot of a column is the upper 64 - `shift` bits of its hash. Costs a few operations per column.
    """
    mask = np.uint64(len(table)) - _1
    for k in range(start, len(columns)):
        column = np.uint64(columns[k])
        slot = (column * _SPREAD) >> shift
        while table[slot] != _0 and ids[table[slot]] != column:
            slot = (slot + _1) & mask
        if table[slot] == _0:
            if count == len(ids):
                return k, count
            ids[count] = column
            table[slot] = count
            count += 1
        numbers[k] = table[slot]
    return len(columns), count


@jit()
def look_up_columns(columns, ids, table, shift, limit, numbers):
    """Find the numbers of columns; 0 if a column never occurred or its number is not below `limit`.

    Costs a few operations per column.
    """
    mask = np.uint64(len(table)) - _1
    for k in range(len(columns)):
        column = np.uint64(columns[k])
        slot = (column * _SPREAD) >> shift
        while table[slot] != _0 and ids[table[slot]] != column:
            slot = (slot + _1) & mask
        number = table[slot]
        numbers[k] = number if number < limit else _0
