"""The application: routing, admitting and answering requests."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote

from widemargin.errors import DataError
from widemargin.web.serving.batches import Answering, Question
from widemargin.web.serving.bodies import Examples, Refused, format_of_type, unreadable
from widemargin.web.serving.gate import Gate
from widemargin.web.serving.limits import Limits
from widemargin.web.serving.logs import RequestLog
from widemargin.web.serving.messages import Answer, Request, refusal, refusal_of
from widemargin.web.serving.metrics import Counters
from widemargin.web.serving.openapi import describe_api
from widemargin.web.serving.page import PAGE
from widemargin.web.serving.predictor import AnswerOptions, plain_json
from widemargin.web.serving.served import Served

#: Larger bodies are read on the thread; this many bytes of JSON take about a millisecond.
_LARGE = 1 << 16
#: Routes by path, and their methods.
_ROUTES = {
    b"/models": ("models", "GET"),
    b"/healthz": ("healthz", "GET"),
    b"/readyz": ("readyz", "GET"),
    b"/metrics": ("metrics", "GET"),
    b"/openapi.json": ("openapi", "GET"),
    **dict.fromkeys(PAGE, ("page", "GET")),
}
_QUESTIONS = {b"/predict": "predict", b"/explain": "explain"}
Respond = Callable[[Answer], None]


class Application:
    """Answers requests about some models.

    Parameters
    ----------
    models : sequence of Served
        The models.
    loop : event loop
        The loop in which everything but long computations runs.
    gate, limits, counters, log
        Access control, limits, metrics and the request log.
    wait : float
        Seconds that a question waits for others to be answered with it.
    takeovers, workers : int
        The number of times models were replaced, and the number of workers, for the metrics.

    Attributes
    ----------
    under_way : int
        The number of admitted requests that are not answered yet.
    draining : bool
        Whether the process is shutting down.
    """

    def __init__(
        self,
        models: Sequence[Served],
        loop: asyncio.AbstractEventLoop,
        gate: Gate,
        limits: Limits,
        counters: Counters,
        log: RequestLog,
        wait: float = 0.0,
        takeovers: int = 0,
        workers: int = 1,
    ) -> None:
        self.models = {served.name: served for served in models}
        self.loop, self.gate, self.limits = loop, gate, limits
        self.counters, self.log = counters, log
        self.answering = Answering(loop, counters, wait)
        self.under_way, self.draining = 0, False
        self._takeovers, self._workers = takeovers, workers
        self._heads = {
            served.name: f'{{"model":{plain_json(served.name)},"digest":"{served.digest}",'.encode()
            for served in models
        }
        described = [served.describe() for served in models]
        self._described = plain_json({"models": described}).encode()
        self._api = plain_json(describe_api(described, limits)).encode()

    # Admission, before the body is read

    def admit(self, request: Request) -> None:
        """Find the route of a request; raises Refused if it must not be answered."""
        path = request.path
        route = _QUESTIONS.get(path) or _QUESTIONS.get(path[:8] if path[8:9] == b"/" else b"")
        if route is not None:
            request.route, method = route, "POST"
        elif path in _ROUTES:
            request.route, method = _ROUTES[path]
        else:
            self.gate.check(request)
            raise Refused(404, "there is nothing here; see /openapi.json")
        self.gate.check(request)
        allowed = ("GET", "HEAD") if method == "GET" else (method,)
        if request.method not in allowed:
            raise Refused(
                405, f"use {method} here, not {request.method[:20]}", allow=", ".join(allowed)
            )
        if route is not None and self.under_way >= self.limits.concurrent:
            raise Refused(429, f"{self.under_way} requests are under way; try again")
        encoding = request.headers.get(b"content-encoding")
        if encoding is not None and encoding.lower() != b"identity" and route is not None:
            told = encoding[:40].decode("latin-1")
            raise Refused(415, f"Content-Encoding {told!r}: send the body as it is")
        length = request.headers.get(b"content-length", b"0")
        if len(length) > 15 or int(length) > self.limits.body:
            raise Refused(413, f"the body is larger than {self.limits.body:,} bytes")

    # Answering

    def handle(self, request: Request, respond: Respond) -> Question | None:
        """Answer a complete request, now or later.

        Returns the question, if there is one, so that it can be dropped.
        """
        try:
            if request.route in ("predict", "explain"):
                return self._question(request, respond)
            respond(self._plain(request))
        except Exception as error:
            respond(self.failure(request, error))
        return None

    def failure(self, request: Request, error: BaseException) -> Answer:
        """The answer to a request that failed. Details of internal errors go to the log only."""
        if isinstance(error, Refused):
            return refusal_of(error, request)
        if isinstance(error, DataError):
            return self.failure(request, unreadable(error))
        trace = "".join(traceback.format_exception(error))
        print(f"widemargin: request {request.id}: {trace}", file=sys.stderr, flush=True)
        return refusal(500, "internal error; see the server's log", request)

    def _plain(self, request: Request) -> Answer:
        """Answer a request that needs no model."""
        if request.route == "page":
            return PAGE[request.path]
        if request.route == "models":
            return Answer(200, self._described)
        if request.route == "openapi":
            return Answer(200, self._api)
        if request.route == "metrics":
            info = [(m.name, m.digest, m.predictor.model.learner) for m in self.models.values()]
            text = self.counters.text(info, self._takeovers, self._workers)
            return Answer(200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")
        if request.route == "readyz" and self.draining:
            return refusal(503, "this process is shutting down", request)
        return Answer(200, b'{"status":"ok"}')

    def _question(self, request: Request, respond: Respond) -> Question | None:
        options = _options(request.route, request.query)
        served = self._choose(request, options)
        request.model, request.digest = served.name, served.digest
        format = format_of_type(request.headers.get(b"content-type", b"").decode("latin-1"))
        if request.route == "explain":
            self._explain(request, served, format, options, respond)
            return None
        want = AnswerOptions(_flag(options, "scores"), _flag(options, "proba"))
        served.predictor.check(want)
        question = Question(served, _NOTHING, want, len(request.body), lambda found: None)

        def answered(found: list[str] | BaseException) -> None:
            if isinstance(found, BaseException):
                respond(self.failure(request, found))
            else:
                respond(self._predictions(question, found))

        def ready(examples: Examples | BaseException) -> None:
            if isinstance(examples, BaseException):
                answered(examples)
            elif not examples.n:
                answered([])
            else:
                question.examples, request.rows = examples, examples.n
                self.answering.ask(question)

        question.done = answered
        body, limits = request.body, self.limits
        if len(body) > _LARGE:
            self.answering.apart(lambda: served.predictor.read(body, format, limits), ready)
        else:
            ready(served.predictor.read(body, format, limits))
        return question

    def _predictions(self, question: Question, found: list[str]) -> Answer:
        """The answer to a question, which names the model and its digest."""
        head = self._heads[question.served.name]
        if question.examples.one:
            return Answer(200, b'%b"prediction":%b}' % (head, found[0].encode()))
        return Answer(200, b'%b"predictions":[%b]}' % (head, ",".join(found).encode()))

    def _explain(
        self,
        request: Request,
        served: Served,
        format: str,
        options: dict[str, str],
        respond: Respond,
    ) -> None:
        top, token = _number(options, "top", 10), _number(options, "token", None)
        predictor, body, limits = served.predictor, request.body, self.limits

        def work() -> bytes:
            examples = predictor.read(body, format, limits)
            request.rows = examples.n
            text = plain_json(predictor.explain(examples, top or 10, token))
            return b"%b%b" % (self._heads[served.name], text[1:].encode())

        def done(found: Any) -> None:
            failed = isinstance(found, BaseException)
            respond(self.failure(request, found) if failed else Answer(200, found))

        self.answering.apart(work, done)

    def _choose(self, request: Request, options: dict[str, str]) -> Served:
        """The model that a request names, or the only one."""
        name = unquote(request.path[9:].decode("latin-1"))
        if name and "model" in options:
            raise Refused(422, "the model is named twice, in the path and as an option")
        name = name or options.get("model", "")
        if not name:
            if len(self.models) == 1:
                return next(iter(self.models.values()))
            raise Refused(422, f"name a model: /{request.route}/NAME with one of {self._names()}")
        if name not in self.models:
            raise Refused(404, f"there is no model {name[:80]!r}, only {self._names()}")
        return self.models[name]

    def _names(self) -> str:
        return ", ".join(self.models)


_NOTHING = Examples("", [], 0, False)


#: The query options, by route. Others are refused, because they would have no effect.
_OPTIONS = {"predict": ("model", "scores", "proba"), "explain": ("model", "top", "token")}


@lru_cache(256)
def _options(route: str, query: bytes) -> dict[str, str]:
    """Parse the query options."""
    try:
        found = parse_qs(query.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise Refused(422, "the query string cannot be parsed") from None
    for name, values in found.items():
        if name not in _OPTIONS[route]:
            raise Refused(
                422,
                f"{name[:40]!r} is not an option of /{route}; use {', '.join(_OPTIONS[route])}",
            )
        if len(values) > 1:
            raise Refused(422, f"{name!r} is given {len(values)} times")
    return {name: values[0] for name, values in found.items()}


def _flag(options: dict[str, str], name: str) -> bool:
    given = options.get(name, "false").lower()
    if given not in ("true", "false", "1", "0", ""):
        raise Refused(422, f"{name}={given[:20]!r}: use true or false")
    return given in ("true", "1", "")


def _number(options: dict[str, str], name: str, default: int | None) -> int | None:
    given = options.get(name)
    if given is None:
        return default
    if not given.isdecimal() or not 1 <= len(given) <= 6 or int(given) < 1:
        raise Refused(422, f"{name}={given[:20]!r}: use a whole number of at least 1")
    return int(given)
