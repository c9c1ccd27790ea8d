"""Boolean networks compute their tables, explain themselves, and come back from a file."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin import DataError, ModelFileError, Perceptron, boolean_network
from widemargin.models.networks import BooleanNetwork, every_input


def run(network, x):
    """The two levels, unit by unit: a unit fires if its weighted sum is not negative."""
    fired = [
        sum(int(w) * v for w, v in zip(weights, x, strict=True)) - int(threshold) >= 0
        for weights, threshold in zip(network.hidden, network.thresholds, strict=True)
    ]
    return int(network.output * sum(fired) + network.bias >= 0)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_every_table(n):
    for table in itertools.product((0, 1), repeat=2**n):
        network = boolean_network(table)
        assert network.inputs == n
        assert network.units <= max(1, 2**n // 2)
        assert [run(network, x) for x in every_input(n).tolist()] == list(table)
        assert network.predict(every_input(n)).tolist() == list(table)


@given(st.integers(4, 9), st.integers(0, 2**32), st.floats(0, 1))
def test_large_tables(n, seed, share):
    table = np.random.default_rng(seed).random(2**n) < share
    network = boolean_network(table)
    assert network.units <= 2**n // 2
    assert np.array_equal(network.predict(every_input(n)), table)


def test_first_input_is_the_highest_bit():
    network = boolean_network(lambda a, b, c: a and not c, inputs=3)
    assert network.predict([[1, 0, 0], [0, 0, 1], [1, 1, 1]]).tolist() == [1, 0, 0]
    assert network.units == 1
    assert network.describe(0) == "x0 and not x2"
    assert network.hidden.tolist() == [[1, 0, -1]]


def test_parity_needs_half_the_table():
    network = boolean_network(lambda *x: sum(x) % 2, inputs=10)
    assert network.units == 2**9
    assert repr(network) == "10 inputs, 512 hidden units, 1 if any fires"
    assert repr(boolean_network([0, 1])) == "1 input, 1 hidden unit, 1 if any fires"


def test_explains_itself():
    either = boolean_network([0, 1, 1, 1])
    assert either.explain([0, 0]).startswith("0: fired: not x0 and not x1")
    assert either.explain([0, 1]) == "1: no hidden unit fired; the output is 1 if none fires"
    assert boolean_network([1, 1]).explain([0]).startswith("1: no hidden unit fired")


def test_goes_into_a_file_and_back(tmp_path):
    network = boolean_network([0, 1, 1, 0, 1, 0, 0, 1])
    network.save(tmp_path / "parity.wm")
    back = BooleanNetwork.load(tmp_path / "parity.wm")
    assert np.array_equal(back.hidden, network.hidden)
    assert np.array_equal(back.predict(every_input(3)), network.predict(every_input(3)))
    assert back.explain([1, 1, 1]) == network.explain([1, 1, 1])
    Perceptron().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "other.wm")
    with pytest.raises(ModelFileError, match="not a network"):
        BooleanNetwork.load(tmp_path / "other.wm")


@pytest.mark.parametrize(
    ("table", "message"),
    [([], "2\\^n"), ([0, 1, 1], "2\\^n"), ([[0, 1]], "2\\^n"), ([0, 2], "zeros and ones")],
)
def test_bad_tables(table, message):
    with pytest.raises(DataError, match=message):
        boolean_network(table)


def test_bad_inputs():
    network = boolean_network([0, 1, 1, 0])
    for x in ([[0, 1, 1]], [0, 1], [[0, 2]]):
        with pytest.raises(DataError, match="inputs"):
            network.predict(x)
    with pytest.raises(DataError, match="one row"):
        network.explain([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="inputs"):
        boolean_network(lambda *x: 0, inputs=17)
