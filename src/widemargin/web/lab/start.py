"""Start the lab: from a notebook, in a separate thread, or from a shell, until Ctrl-C."""

from __future__ import annotations

import atexit
import socket
import threading
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Self

from widemargin.web.lab.samples import Table, make_table

#: The height of the page in a notebook, in pixels.
_HEIGHT = 900


def _needed() -> None:
    """Raise an error that says how to install missing dependencies."""
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise ImportError(
            "the lab needs starlette and uvicorn, which are not both installed:"
            " pip install 'widemargin[lab]'"
        )


class Lab:
    """A lab that runs in a thread. In a notebook it shows its page; `close` stops it.

    Attributes
    ----------
    url : str
        The address of the page, with its secret token.
    """

    def __init__(self, table: Table | None, port: int = 0, framed: bool = True) -> None:
        _needed()
        from widemargin.web.lab.app import make_app
        from widemargin.web.lab.guard import Guard
        from widemargin.web.running import Running, address_of, listen
        from widemargin.web.security import Hosts, Tokens, new_token

        # Warnings of training are shown on the page.
        warnings.filterwarnings("ignore", module=r"widemargin\.web\.lab\.trainings")
        self._socket = listen("127.0.0.1", port)
        # Otherwise the end of an answer may wait up to 40 ms for its beginning to be acknowledged.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        token, number = new_token(), self._socket.getsockname()[1]
        hosts = Hosts("127.0.0.1", number)
        guard = Guard(make_app(table), hosts, Tokens([token]), framed)
        self._server = Running(guard, grace=1.0, timeout_keep_alive=60)
        self._thread: threading.Thread | None = None
        self.url = f"{address_of(self._socket)}/{token}/"

    def start(self) -> Self:
        """Start serving in a thread."""
        self._thread = threading.Thread(
            target=self._server.run_on, args=(self._socket,), daemon=True, name="widemargin lab"
        )
        self._thread.start()
        atexit.register(self.close)
        return self

    def run(self) -> int:
        """Serve in this thread until a signal, and return the signal."""
        return self._server.run_on(self._socket)

    def close(self) -> None:
        """Stop the lab; the page then shows that it is gone."""
        self._server.stop()
        if self._thread is not None:
            self._thread.join(10.0)
            self._thread = None
            atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lab at {self.url}"

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{self.url}" title="the lab of widemargin" width="100%"'
            f' height="{_HEIGHT}" style="border:0"></iframe>'
        )


def lab(X: Any = None, y: Any = None, *, names: Sequence[str] | None = None, port: int = 0) -> Lab:
    """Open the lab: a page where you place points and watch learners learn, step by step.

    In a notebook the page is shown below the cell; elsewhere, open the address in a browser on this
    machine. It needs the extra `lab`: pip install 'widemargin[lab]'.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d), optional
        Examples to start with. With more than two columns, choose two of them on the page, or a
        projection; of more than 300 rows, 300 are drawn at random.
    y : array of n labels, optional
        Their labels, from two to eight classes.
    names : list of str, optional
        The names of the columns; by default those of the data frame.
    port : int
        The port to listen on, at 127.0.0.1 only; 0 means any free port.

    Returns
    -------
    Lab
        Its `url` is the address, and `close()` stops it.

    Examples
    --------
    >>> from widemargin import lab
    >>> with lab([[0, 0], [1, 1]], ["no", "yes"]) as running:
    ...     running.url.startswith("http://127.0.0.1:")
    True
    """
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither")
    table = None if X is None else make_table(X, y, names, "your examples")
    return Lab(table, port).start()
