"""A task: what is predicted, the features that describe it, and how the best answer is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from widemargin.errors import DataError

#: Feature values by name; or only names, each repeated as often as it occurs.
Features = Mapping[str, float] | Iterable[str]


def count_features(features: Features) -> dict[str, float]:
    """Feature values by name.

    Examples
    --------
    >>> count_features(["Det Noun", "Noun Verb", "Det Noun"])
    {'Det Noun': 2.0, 'Noun Verb': 1.0}
    """
    if isinstance(features, str):
        return {features: 1.0}
    if isinstance(features, Mapping):
        return {name: float(value) for name, value in features.items()}
    return {name: float(times) for name, times in Counter(features).items()}


def same_answer(y: Any, found: Any) -> bool:
    """Whether two answers are equal; a list equals a tuple with the same items.

    Examples
    --------
    >>> same_answer(["Det", "Noun"], ("Det", "Noun")), same_answer("Det", "Noun")
    (True, False)
    """
    if {type(y), type(found)} == {list, tuple}:
        return list(y) == list(found)
    return bool(y == found)


class Score:
    """Scores an answer or a part of it: the sum of its feature values times their weights.

    Examples
    --------
    >>> score = Score({"Det Noun": 2.0, "the": -1.0})
    >>> score("Det Noun"), score(["Det Noun", "the"]), score({"the": 3.0, "new": 1.0})
    (2.0, 1.0, -3.0)
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights

    def __call__(self, features: Features) -> float:
        """The score of some features."""
        weight = self.weights.get
        if isinstance(features, str):
            return weight(features, 0.0)
        if isinstance(features, Mapping):
            return sum(value * weight(name, 0.0) for name, value in features.items())
        return sum(weight(name, 0.0) for name in features)


class Task:
    """What to predict, and how. Implement `features` and `argmax`; the rest is optional.

        score(x, y) = sum of the weights of f(x, y);  the answer is the y that maximises it

    A task with few possible answers may implement `candidates` instead of `argmax`. For beam
    search, implement `start`, `steps`, `is_done`, `is_right` and `answer`.

    Examples
    --------
    >>> from widemargin.structured import StructuredPerceptron, Task
    >>> class Rhyme(Task):
    ...     '''Choose the word that rhymes: x is (word, candidates).'''
    ...
    ...     def features(self, x, y):
    ...         return [f"same last {n}" for n in (1, 2, 3) if x[0][-n:] == y[-n:]]
    ...
    ...     def argmax(self, x, score):
    ...         return max(x[1], key=lambda y: score(self.features(x, y)))
    >>> X = [("light", ["load", "night"]), ("moon", ["man", "soon"]), ("day", ["way", "dry"])]
    >>> model = StructuredPerceptron(Rhyme(), epochs=5, random_state=0)
    >>> model = model.fit(X, ["night", "soon", "way"])
    >>> model.predict([("house", ["horse", "mouse", "nose"])])
    ['mouse']
    """

    # Required of every task

    def features(self, x: Any, y: Any) -> Features:
        """The features f(x, y) of an answer: names with values, or names that count 1 each."""
        raise NotImplementedError(f"{type(self).__name__} has no features(x, y)")

    def argmax(self, x: Any, score: Score) -> Any:
        """The best answer. `score` takes the features of an answer or of a part of it."""
        best, most = None, float("-inf")
        for y in self.candidates(x):
            reached = score(self.features(x, y))
            if reached > most or best is None:  # the first of the best
                best, most = y, reached
        if best is None:
            raise DataError("there is no candidate to choose from")
        return best

    def candidates(self, x: Any) -> Iterable[Any]:
        """All possible answers for x, if they are few; also used to check `argmax`."""
        raise NotImplementedError(f"{type(self).__name__} has neither argmax nor candidates")

    # Costs

    def cost(self, y: Any, found: Any) -> float:
        """The cost of answering `found` where y is right; 0 only if it is as good as y."""
        return float(not same_answer(y, found))

    def argmax_with_cost(self, x: Any, score: Score, y: Any) -> Any:
        """The answer that maximises its score plus its cost, where y is the right answer."""
        return max(
            self.candidates(x),
            key=lambda found: score(self.features(x, found)) + self.cost(y, found),
        )

    def quality(self, y: Any, found: Any) -> float:
        """How good an answer is, from 0 to 1; `score` returns its mean."""
        return float(same_answer(y, found))

    # Beam search

    def start(self, x: Any) -> Any:
        """The state before the first step."""
        raise NotImplementedError(f"{type(self).__name__} has no beam search: it needs start(x)")

    def steps(self, x: Any, state: Any) -> Iterable[tuple[Features, Any]]:
        """The steps from a state: for each, the features it adds and the state it leads to."""
        raise NotImplementedError(f"{type(self).__name__} has no beam search: it needs steps()")

    def is_done(self, x: Any, state: Any) -> bool:
        """Whether a state is a complete answer."""
        raise NotImplementedError(f"{type(self).__name__} has no beam search: it needs is_done()")

    def is_right(self, x: Any, y: Any, state: Any) -> bool:
        """Whether a state is on the way to y."""
        raise NotImplementedError(f"{type(self).__name__} has no beam search: it needs is_right()")

    def answer(self, x: Any, state: Any) -> Any:
        """The answer that a final state stands for."""
        raise NotImplementedError(f"{type(self).__name__} has no beam search: it needs answer()")

    # Files

    def params(self) -> dict[str, Any]:
        """The parameters to recreate this task with `type(task)(**params)`; saved with models."""
        return {}

    def __repr__(self) -> str:
        """The call that recreates this task."""
        told = ", ".join(f"{name}={value!r}" for name, value in self.params().items())
        return f"{type(self).__name__}({told})"


def check_decoder(
    task: Task,
    examples: Iterable[Any],
    candidates: Any = None,
    rounds: int = 10,
    seed: int = 0,
) -> int:
    """Compare a task's argmax with brute force, under random weights.

    Parameters
    ----------
    task : Task
        The task to check; its `argmax_with_cost` is checked too, if it defines one.
    examples : iterable
        Small inputs x.
    candidates : callable
        Returns all possible answers for x; by default the task's own `candidates`.
    rounds : int
        How many random weight vectors to try for each example.
    seed : int
        Seed of the random weights, which are small integers so that sums are exact and ties occur.

    Returns
    -------
    int
        How many answers were compared.

    Raises
    ------
    DataError
        If an answer scores less than the best candidate, or is not a candidate; or if the name of
        a feature is not a string.

    Examples
    --------
    >>> from widemargin.structured import check_decoder
    >>> from widemargin.structured.tasks import Tagging
    >>> check_decoder(Tagging(["D", "N"]), [["the", "dog"], ["a"]], rounds=5)
    20
    """
    import random

    chance, compared = random.Random(seed), 0
    with_cost = type(task).argmax_with_cost is not Task.argmax_with_cost
    for x in examples:
        answers = list((candidates or task.candidates)(x))
        described = [count_features(task.features(x, y)) for y in answers]
        found = {name for features in described for name in features}
        for name in found:
            if not isinstance(name, str):
                raise DataError(f"features({x!r}, y): {name!r} is not a string, as names must be")
        names = sorted(found)
        for _ in range(rounds):
            score = Score({name: float(chance.randint(-3, 3)) for name in names})
            scores = [score(features) for features in described]
            _compare(task.argmax(x, score), x, answers, scores, "argmax")
            compared += 1
            if with_cost:
                y = chance.choice(answers)
                costs = [s + task.cost(y, a) for s, a in zip(scores, answers, strict=True)]
                _compare(task.argmax_with_cost(x, score, y), x, answers, costs, "argmax_with_cost")
                compared += 1
    return compared


def _compare(found: Any, x: Any, answers: list[Any], scores: list[float], name: str) -> None:
    best = max(range(len(answers)), key=scores.__getitem__)
    if found not in answers:
        raise DataError(f"{name}({x!r}): {found!r} is not one of the {len(answers)} candidates")
    reached = scores[answers.index(found)]
    if reached < scores[best] - 1e-9 * max(1.0, abs(scores[best])):
        raise DataError(
            f"{name}({x!r}): {found!r} scores {reached:g}, but {answers[best]!r}"
            f" scores {scores[best]:g}"
        )
