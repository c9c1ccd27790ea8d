"""The application behind the lab's page: it validates requests and calls the library."""

from __future__ import annotations

import contextlib
import json
import mimetypes
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from widemargin.errors import DataError
from widemargin.web.lab.learners import LearnerChoice, choose, described
from widemargin.web.lab.points import MOST_POINTS, read_frame, read_points
from widemargin.web.lab.presets import presets
from widemargin.web.lab.samples import Table, sample
from widemargin.web.lab.script import program
from widemargin.web.lab.trainings import MOST_STEPS, PATIENCE, StoppedError, Watch, train
from widemargin.web.lab.verdicts import certified, compile_certify, verdict_of
from widemargin.web.lab.work import BusyError, OneAtATime

#: The largest request body; a thousand points with 17 digits each are 45 kB.
_MOST_BYTES = 1 << 18
#: The status of a request whose page was closed.
_CLOSED = 499

Answer = dict[str, Any]


def make_app(table: Table | None = None) -> Starlette:
    """Make the application, with the user's own examples if given."""
    lab = _Lab(table)

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        yield
        lab.turns.close()

    routes = [
        Route("/setup", lab.setup),
        Route("/verdict", lab.asked(lab.verdict), methods=["POST"]),
        Route("/learn", lab.asked(lab.learn), methods=["POST"]),
        Route("/sample", lab.asked(lab.sample), methods=["POST"]),
        Route("/python", lab.asked(lab.python), methods=["POST"]),
        Route("/", lab.file),
        Route("/{name}", lab.file),
    ]
    return Starlette(routes=routes, lifespan=life)


class _Lab:
    """The state shared by the routes: the files of the page, the user's examples, the worker."""

    def __init__(self, table: Table | None) -> None:
        self.table, self.turns, self.compiled = table, OneAtATime(), False
        folder = resources.files("widemargin.web.lab") / "page"
        # Only these files can be requested: no path is built from a request.
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    async def file(self, request: Request) -> Response:
        """A file of the page."""
        name = request.path_params.get("name") or "index.html"
        if name not in self._files:
            raise HTTPException(404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if name.endswith(".js"):  # regardless of the system's table
            kind = "text/javascript"
        return Response(self._files[name], media_type=kind)

    async def setup(self, request: Request) -> Response:
        """The data that the page needs at the start."""
        return JSONResponse(
            {
                "learners": described(),
                "presets": [preset._asdict() for preset in presets()],
                "table": None if self.table is None else self.table.about(),
                "limits": {"points": MOST_POINTS, "steps": MOST_STEPS},
            }
        )

    def asked(
        self, work: Callable[[Answer, Watch], Answer]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Make a route that reads a JSON object, runs `work` on it, and returns the result."""

        async def route(request: Request) -> Response:
            given = await _read(request)
            try:
                body = await self.turns.run(
                    lambda stop: _text(_checked(work, given, stop)), lambda: _leaving(request)
                )
            except BusyError:
                body = _text({"error": "the lab is busy: try again"})
                return Response(body, 429, {"Retry-After": "1"}, "application/json")
            except StoppedError:
                return Response(status_code=_CLOSED)
            except (DataError, ValueError) as error:
                return JSONResponse({"error": str(error)}, 422)
            except Exception:  # details are printed here, and not sent to the page
                traceback.print_exc(file=sys.stderr)
                return JSONResponse({"error": "the lab failed: see its terminal"}, 500)
            return Response(body, media_type="application/json")

        return route

    def verdict(self, given: Answer, watch: Watch) -> Answer:
        """Whether a line separates the classes."""
        placed = read_points(given)
        bias, measured = _switch(given, "bias"), _switch(given, "margin")
        if not self.compiled:
            compile_certify()
            self.compiled = True
        found = certified(placed, bias, measured=measured, seconds=PATIENCE)
        return {"verdict": verdict_of(found, placed)}

    def learn(self, given: Answer, watch: Watch) -> Answer:
        """Train the learners of the page on its points."""
        placed, choices = read_points(given), _choices(given)
        frame = read_frame(given.get("frame"))
        runs = []
        for choice in choices:
            try:
                runs.append(train(choice, placed, frame, watch))
            except (DataError, ValueError) as error:  # the other learner can still be shown
                runs.append({"learner": choice.learner.name, "error": str(error)})
        return {"runs": runs}

    def sample(self, given: Answer, watch: Watch) -> Answer:
        """Show the user's own examples as points."""
        if self.table is None:
            raise DataError("no examples were given: start the lab with a file")
        return sample(self.table, given)

    def python(self, given: Answer, watch: Watch) -> Answer:
        """The Python program that reproduces what is shown."""
        return {"program": program(_choices(given), read_points(given))}


def _switch(given: Answer, name: str) -> bool:
    """Read a boolean; the default is true."""
    value = given.get(name, True)
    if not isinstance(value, bool):
        raise DataError(f"{name}={value!r:.40} must be true or false")
    return value


def _choices(given: Answer) -> list[LearnerChoice]:
    learners = given.get("learners")
    if not isinstance(learners, list) or not 1 <= len(learners) <= 2:
        raise DataError("learners must be a list of one or two")
    return [choose(one) for one in learners]


def _checked(work: Callable[..., Answer], given: Answer, stop: threading.Event) -> Answer:
    """Do the work, unless the page has gone."""
    watch = Watch(stop)
    watch.look()
    return work(given, watch)


def _text(answer: Answer) -> bytes:
    return json.dumps(answer, separators=(",", ":"), allow_nan=False).encode()


async def _read(request: Request) -> Answer:
    """Read the body of a request: one JSON object of limited size."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the lab reads application/json")
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_BYTES:
                raise HTTPException(413, f"at most {_MOST_BYTES} bytes")
    except ClientDisconnect:
        raise HTTPException(400) from None
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return given


async def _leaving(request: Request) -> None:
    """Return when the page that sent the request is closed."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
