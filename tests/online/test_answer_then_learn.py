"""Predicting each row before learning from it: which row an error names."""

import numpy as np
import pytest

from widemargin import DataError
from widemargin.data.rows import Rows
from widemargin.online.one_by_one import AnswerThenLearn
from widemargin.online.settings import Settings
from widemargin.online.state import State


@pytest.mark.parametrize("labelled", [True, False])
def test_the_row_of_an_error_is_the_first_that_has_no_score(labelled):
    rows = Rows.of(np.array([[1.0], [4.0], [1.0], [4.0], [1.0]]), bias=0.0)
    state = State.begin(np.array([[1e308, 0.0]]), "last", joint=True)
    codes = np.array([1, 1, 1, 0, 1]) if labelled else np.full(5, -1)
    for _ in range(3):
        left = [np.full(5, -9) for _ in range(20)]
        del left  # these numbers lie in memory where the answers will be
        with pytest.raises(DataError, match="row 1: its score or norm is too large"):
            AnswerThenLearn(rows, state, Settings(keep="last")).run(slice(0, 5), codes, None, 0.0)
