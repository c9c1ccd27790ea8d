"""Counters of all processes, in shared memory, and their Prometheus text format."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Sequence

#: The routes of requests.
ROUTES = (
    "predict",
    "explain",
    "models",
    "healthz",
    "readyz",
    "metrics",
    "openapi",
    "page",
    "other",
)
#: The statuses that the server answers with.
STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 431, 500, 503)
#: Upper edges of the histogram of seconds, in factors of about 2.5, from the time of the fastest
#: answer to about the time limit.
EDGES = (
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
_PLAIN = ("batches", "batch_examples", "under_way", "connections", "seconds_sum")
_HELP = {
    "requests_total": ("counter", "Requests by route and status of the answer."),
    "examples_total": ("counter", "Examples predicted, by model."),
    "batches_total": ("counter", "Batches of examples passed to compiled code."),
    "batch_examples_total": ("counter", "Examples in these batches."),
    "requests_under_way": ("gauge", "Requests being read or answered."),
    "connections": ("gauge", "Open connections."),
    "request_seconds": ("histogram", "Seconds from the first byte of a request to its answer."),
    "model_info": ("gauge", "The served models, and the digests of their files."),
    "takeovers_total": ("counter", "Times that models were replaced because their files changed."),
    "workers": ("gauge", "Worker processes."),
}


class Counters:
    """Counters of several processes, each of which writes to its own cells.

    Parameters
    ----------
    slots : int
        The largest number of processes at a time.
    models : sequence of str
        The names of the models.
    """

    def __init__(self, slots: int, models: Sequence[str]) -> None:
        self.models = list(models)
        self._place: dict[tuple[str, ...], int] = {}
        for route in ROUTES:
            for status in STATUSES:
                self._add("requests", route, str(status))
        for name in self.models:
            self._add("examples", name)
        for number in range(len(EDGES) + 1):
            self._add("bucket", str(number))
        for name in _PLAIN:
            self._add(name)
        self._width = len(self._place)
        self._cells = memoryview(mmap.mmap(-1, 8 * self._width * slots)).cast("d")
        self._slots, self._first = slots, 0
        self._bucket = self._place["bucket", "0"]

    def _add(self, *key: str) -> None:
        self._place[key] = len(self._place)

    def take_slot(self, number: int) -> None:
        """Count in the cells of this process from now on, and reset the gauges left in them."""
        self._first = (number % self._slots) * self._width
        for name in ("under_way", "connections"):
            self._cells[self._first + self._place[name,]] = 0.0

    def add(self, *key: str, by: float = 1.0) -> None:
        """Add to a counter."""
        self._cells[self._first + self._place[key]] += by

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer, and the time of a prediction or explanation."""
        cells, first = self._cells, self._first
        cells[first + self._place["requests", route, str(status)]] += 1.0
        if route in ("predict", "explain"):
            cells[first + self._bucket + bisect_left(EDGES, seconds)] += 1.0
            cells[first + self._place["seconds_sum",]] += seconds

    def total(self, *key: str) -> float:
        """A counter, summed over all processes."""
        at = self._place[key]
        return sum(self._cells[slot * self._width + at] for slot in range(self._slots))

    def text(self, info: Iterable[tuple[str, str, str]], takeovers: int, workers: int) -> str:
        """All counters in Prometheus' text format.

        Parameters
        ----------
        info : iterable of (name, digest, learner)
            The served models.
        takeovers, workers : int
            The number of times models were replaced, and the number of workers.
        """
        lines: list[str] = []

        def tell(name: str, *samples: tuple[str, float]) -> None:
            kind, help = _HELP[name]
            lines.append(f"# HELP widemargin_{name} {help}")
            lines.append(f"# TYPE widemargin_{name} {kind}")
            lines.extend(f"widemargin_{name}{labels} {value:.16g}" for labels, value in samples)

        requests = [
            (f'{{route="{route}",status="{status}"}}', self.total("requests", route, str(status)))
            for route in ROUTES
            for status in STATUSES
        ]
        tell("requests_total", *(sample for sample in requests if sample[1]))
        tell(
            "examples_total",
            *((f"{{model={_quoted(name)}}}", self.total("examples", name)) for name in self.models),
        )
        tell("batches_total", ("", self.total("batches")))
        tell("batch_examples_total", ("", self.total("batch_examples")))
        tell("requests_under_way", ("", self.total("under_way")))
        tell("connections", ("", self.total("connections")))
        tell("workers", ("", workers))
        tell("takeovers_total", ("", takeovers))
        tell(
            "model_info",
            *(
                (f'{{model={_quoted(name)},digest="{digest}",learner="{learner}"}}', 1)
                for name, digest, learner in info
            ),
        )
        tell("request_seconds")
        lines += self._histogram()
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        lines, below = [], 0.0
        for number, edge in enumerate([*map(str, EDGES), "+Inf"]):
            below += self.total("bucket", str(number))
            lines.append(f'widemargin_request_seconds_bucket{{le="{edge}"}} {below:.16g}')
        lines.append(f"widemargin_request_seconds_sum {self.total('seconds_sum'):.16g}")
        return [*lines, f"widemargin_request_seconds_count {below:.16g}"]


def _quoted(name: str) -> str:
    """A label's value, escaped as the format requires."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
