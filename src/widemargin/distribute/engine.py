"""The interface of the engines that run algorithms over partitions, and a serial engine.

An algorithm says which function to call with which arguments; an argument may be the outcome of an
earlier call. `SerialEngine` computes everything in this process, one call after another, and is the
reference: `DaskEngine` must give the same bits. Therefore functions never modify their arguments,
and sums are taken in a fixed tree over partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

#: How many outcomes one call joins; a call costs a few milliseconds, and brings them all together.
_BRANCHES = 8


class Engine(Protocol):
    """Calls functions, in this process or elsewhere. A handle stands for the outcome of a call."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Record a call, and return a handle; arguments may be handles.

        The call is made when an outcome that needs it is requested.

        Parameters
        ----------
        name : str
            A description for people: "learn, partition 3".
        function : callable
            A function at the top level of a module. It must not modify its arguments.
        """

    def share(self, name: str, value: Any) -> Any:
        """Return a handle to a value that many calls will need."""

    def finished(
        self, handles: Sequence[Any], kept: Sequence[Any] = (), watched: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any] | int]:
        """Yield the index and the outcome of each handle as soon as it is known.

        In between, about every tenth of a second, it yields how many of `watched` are done. The
        first error is raised. The outcomes of `kept` and `watched` stay where they are, for later
        calls, until they are released.
        """

    def release(self, handles: Sequence[Any]) -> None:
        """Forget handles that are no longer needed; calls that have not started are not made."""


def gather(engine: Engine, handles: Sequence[Any]) -> list[Any]:
    """Wait for outcomes, and return them in the order of their handles."""
    found = dict(report for report in engine.finished(handles) if not isinstance(report, int))
    return [found[number] for number in range(len(handles))]


def tree(
    engine: Engine,
    name: str,
    join: Callable[[Any, Any], Any],
    handles: Sequence[Any],
    finish: tuple[Any, ...] = (),
) -> tuple[Any, list[Any]]:
    """Join neighbours in groups of eight, these in groups of eight, and so on, each in pairs.

    The order of all additions depends only on the number of handles. Returns the handle of the
    total, and those of the intermediate results.

    Parameters
    ----------
    engine : Engine
        Runs the calls.
    name : str
        A description for people.
    join : callable
        Joins two outcomes.
    handles : sequence of handles
        What to join.
    finish : tuple, optional
        A function of the total and further arguments, and these arguments: its outcome is returned
        instead of the total. It is computed along with the last join, which saves a message.
    """
    level, joints = list(handles), []
    while len(level) > 1:
        groups = [level[i : i + _BRANCHES] for i in range(0, len(level), _BRANCHES)]
        how = finish if len(groups) == 1 else ()
        level = [
            engine.submit(f"{name}, {len(level)} to {len(groups)}", *_joined(join, group, how))
            if len(group) > 1
            else group[0]
            for group in groups
        ]
        joints += level
    if finish and not joints:
        level = [engine.submit(name, finish[0], level[0], *finish[1:])]
    return level[0], joints[:-1]


def _joined(
    join: Callable[[Any, Any], Any], group: Sequence[Any], finish: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The call that joins a group, and its arguments."""
    if not finish:
        return join_all, join, *group
    return join_and_finish, join, len(group), *group, *finish


def join_and_finish(join: Callable[[Any, Any], Any], count: int, *given: Any) -> Any:
    """Join the first `count` values, and call a function with the total and further arguments."""
    function, *more = given[count:]
    return function(join_all(join, *given[:count]), *more)


def join_all(join: Callable[[Any, Any], Any], *parts: Any) -> Any:
    """Join neighbours in pairs, the pairs in pairs, and so on."""
    level = list(parts)
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


class _Call:
    """A call that is made once, when its outcome is first needed."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._outcome: Any = None
        self._made = False

    def outcome(self) -> Any:
        """The value that the function returned."""
        if not self._made:
            given = map(_outcome, self._arguments)
            self._outcome, self._made = self._function(*given), True
            self._arguments = ()
        return self._outcome


class SerialEngine:
    """Calls functions in this process, when their outcomes are needed.

    Examples
    --------
    >>> engine = SerialEngine()
    >>> parts = [engine.submit("square", pow, n, 2) for n in range(4)]
    >>> total, _ = tree(engine, "add", int.__add__, parts)
    >>> gather(engine, [total])
    [14]
    """

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> _Call:
        """Record a call."""
        return _Call(function, arguments)

    def share(self, name: str, value: Any) -> _Call:
        """Return a handle to a value."""
        return _Call(_same, (value,))

    def finished(
        self, handles: Sequence[_Call], kept: Sequence[_Call] = (), watched: Sequence[_Call] = ()
    ) -> Iterator[tuple[int, Any] | int]:
        """Make the calls in order."""
        for number, handle in enumerate(watched, 1):
            handle.outcome()
            yield number
        for number, handle in enumerate(handles):
            yield number, handle.outcome()

    def release(self, handles: Sequence[_Call]) -> None:
        """Do nothing: unreferenced outcomes are garbage-collected."""


def _outcome(argument: Any) -> Any:
    """The outcome of a call, the value of a piece of a Dask collection, or any other argument."""
    if isinstance(argument, _Call):
        return argument.outcome()
    return argument.compute(scheduler="sync") if hasattr(argument, "__dask_graph__") else argument


def _same(value: Any) -> Any:
    return value
