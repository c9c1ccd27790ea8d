"""
Perceptrons that predict branches
=================================

The branch predictor of Jiménez and Lin (2001), compared with two kinds of counters.

Before a processor knows whether a branch is taken, it guesses. Each predictor here has about 8
kilobytes of memory:

- bimodal: a two-bit counter for every branch, for what it did recently;
- gshare: a counter for every branch and pattern of the last 15 branches;
- perceptron: a perceptron for every branch, with integer weights over the last 31 branches.

A counter for every pattern learns any function of the history, but needs a counter for each of
2^15 patterns and so cannot look far back. A perceptron's cost grows with the history's length, not
with 2^length, so it sees distant branches through noise. But it is linear: where a branch is the
exclusive or of two others, no weights help it.

::

    python examples/branch_prediction.py [BRANCHES]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator

#: A branch: its address, whether it was taken, and whether it is counted.
Branch = tuple[int, bool, bool]


class Bimodal:
    """A two-bit counter for every branch."""

    def __init__(self, bits: int = 15) -> None:
        self.counters, self.mask = [2] * (1 << bits), (1 << bits) - 1

    def place(self, address: int) -> int:
        """Return the index of the counter for this branch."""
        return address & self.mask

    def predict(self, address: int) -> bool:
        """Predict whether the branch will be taken."""
        return self.counters[self.place(address)] >= 2

    def learn(self, address: int, taken: bool) -> None:
        """Count up or down, from 0 to 3."""
        at = self.place(address)
        self.counters[at] = (
            min(3, self.counters[at] + 1) if taken else max(0, self.counters[at] - 1)
        )


class Gshare(Bimodal):
    """A two-bit counter for every pattern of branch and history."""

    def __init__(self, bits: int = 15) -> None:
        super().__init__(bits)
        self.history = 0

    def place(self, address: int) -> int:
        """Return the index of the counter: address and history, combined."""
        return (address ^ self.history) & self.mask

    def learn(self, address: int, taken: bool) -> None:
        """Count, and add the outcome to the history."""
        super().learn(address, taken)
        self.history = (self.history << 1 | taken) & self.mask


class Perceptrons:
    """A perceptron for every branch, with eight-bit integer weights over a history of +1 and -1."""

    def __init__(self, history: int = 31, table: int = 256) -> None:
        self.history = [1] * (history + 1)  # the first is the constant feature
        self.weights = [[0] * (history + 1) for _ in range(table)]
        self.threshold = int(1.93 * history + 14)

    def _score(self, address: int) -> int:
        weights = self.weights[address % len(self.weights)]
        return sum(w * x for w, x in zip(weights, self.history, strict=True))

    def predict(self, address: int) -> bool:
        """Predict whether the branch will be taken."""
        return self._score(address) >= 0

    def learn(self, address: int, taken: bool) -> None:
        """Perceptron update with a margin: w += y x after a mistake or if the score is small."""
        score, y = self._score(address), 1 if taken else -1
        if (score >= 0) != taken or abs(score) <= self.threshold:
            at = address % len(self.weights)
            steps = zip(self.weights[at], self.history, strict=True)
            self.weights[at] = [max(-128, min(127, w + y * x)) for w, x in steps]
        self.history[1:] = [y, *self.history[1:-1]]


PREDICTORS: dict[str, Callable[[], Bimodal | Perceptrons]] = {
    "bimodal": Bimodal,
    "gshare": Gshare,
    "perceptron": Perceptrons,
}


class Tape:
    """A record of the branches of code that is run."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []

    def branch(self, address: int, condition: bool) -> bool:
        """Record a branch and return its condition."""
        self.branches.append((address, condition, True))
        return condition


def loops(tape: Tape, rng: random.Random) -> None:
    """Loops of fixed lengths; the difficulty is to predict the last iteration."""
    for length in (3, 5, 7):
        turn = 0
        while tape.branch(16 * length, turn < length):
            turn += 1


def sorting(tape: Tape, rng: random.Random) -> None:
    """Insertion sort of random numbers."""
    items = [rng.random() for _ in range(12)]
    for i in range(1, len(items)):
        j = i
        while tape.branch(201, j > 0) and tape.branch(202, items[j - 1] > items[j]):
            items[j - 1], items[j] = items[j], items[j - 1]
            j -= 1


def sieving(tape: Tape, rng: random.Random) -> None:
    """The sieve of Eratosthenes."""
    prime = [True] * 60
    for n in range(2, len(prime)):
        if tape.branch(301, prime[n]):
            multiple = n * n
            while tape.branch(302, multiple < len(prime)):
                prime[multiple] = False
                multiple += n


def collatz(tape: Tape, rng: random.Random) -> None:
    """The Collatz sequence: halve, or triple and add one; an even number follows an odd one."""
    n = rng.randrange(2, 1000)
    while tape.branch(401, n != 1):
        n = n // 2 if tape.branch(402, n % 2 == 0) else 3 * n + 1


def from_code(
    program: Callable[[Tape, random.Random], None], length: int, rng: random.Random
) -> list[Branch]:
    """Run a program repeatedly until it has made enough branches."""
    tape = Tape()
    while len(tape.branches) < length:
        program(tape, rng)
    return tape.branches[:length]


def distant(rng: random.Random) -> Iterator[Branch]:
    """Yield a branch that repeats an earlier one, with twenty random ones in between."""
    while True:
        first = rng.random() < 0.5
        yield 501, first, False
        for i in range(20):
            yield 502 + i, rng.random() < 0.5, False
        yield 540, first, True


def exclusive_or(rng: random.Random) -> Iterator[Branch]:
    """Yield a branch that is taken if exactly one of the two before it was."""
    while True:
        a, b = rng.random() < 0.5, rng.random() < 0.5
        yield 601, a, False
        yield 602, b, False
        yield 603, a != b, True


def traces(length: int, seed: int = 0) -> dict[str, list[Branch]]:
    """Return all traces by name, each with `length` branches."""
    rng = random.Random(seed)
    made = {
        program.__name__: from_code(program, length, rng)
        for program in (loops, sorting, sieving, collatz)
    }
    for name, endless in (("distant branch", distant), ("exclusive or", exclusive_or)):
        branches = endless(rng)
        made[name] = [next(branches) for _ in range(length)]
    return made


def accuracy(predictor: Bimodal | Perceptrons, trace: list[Branch]) -> float:
    """Return the share of counted branches predicted right, after a quarter for warming up."""
    right = counted = 0
    for i, (address, taken, counts) in enumerate(trace):
        if counts and 4 * i >= len(trace):
            counted += 1
            right += predictor.predict(address) == taken
        predictor.learn(address, taken)
    return right / counted


def compare(length: int = 50_000) -> list[tuple[str, str, float]]:
    """Measure the accuracy of every predictor on every trace."""
    return [
        (name, kind, accuracy(make(), trace))
        for name, trace in traces(length).items()
        for kind, make in PREDICTORS.items()
    ]


def draw(found: list[tuple[str, str, float]]) -> None:
    """Draw a group of bars for each trace, with a bar for each predictor."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
    names = list(dict.fromkeys(name for name, _, _ in found))
    width = 0.8 / len(PREDICTORS)
    for k, kind in enumerate(PREDICTORS):
        rights = [100 * right for _, by, right in found if by == kind]
        ax.bar([i + (k - 1) * width for i in range(len(names))], rights, width, label=kind)
    ax.set_xticks(range(len(names)), names)
    ax.set(ylabel="branches predicted right, %", ylim=(0, 100))
    ax.legend(ncols=len(PREDICTORS), loc="lower center", bbox_to_anchor=(0.5, 1.0))


def main() -> None:
    """Print a table, and draw it."""
    found = compare(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
    print(f"{'branches right':16}" + "".join(f"{kind:>12}" for kind in PREDICTORS))
    for i in range(0, len(found), len(PREDICTORS)):
        row = found[i : i + len(PREDICTORS)]
        best = max(right for _, _, right in row)
        cells = (f"{100 * right:.1f} %{'*' if right == best else ' '}" for _, _, right in row)
        print(f"{row[0][0]:16}" + "".join(f"{cell:>12}" for cell in cells))
    draw(found)


if __name__ == "__main__":
    main()
