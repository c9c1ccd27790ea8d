"""The shell program, also as `python -m widemargin`.

Nothing is imported here that takes time, so that Ctrl-C ends the program with one line at any time.
"""

import os
import signal
from types import FrameType

from widemargin.training.interrupts import Interrupts


def main() -> None:
    """Run the program."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # or it is ignored
    if ours:
        signal.signal(signal.SIGINT, _end_at_once)
    from widemargin.cli.main import main as program
    from widemargin.cli.streams import prepare_streams

    prepare_streams()
    if ours:
        signal.signal(signal.SIGINT, Interrupts())
    try:
        program()
    finally:
        if ours:  # nothing is left to interrupt
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            # If Ctrl-C came while a string was executed, as importing some modules does, then
            # `python -m` would kill itself at exit; executing another makes Python forget it.
            exec("")


def _end_at_once(number: int, frame: FrameType | None) -> None:
    """End before a command has begun. An exception could be lost in an import."""
    os.write(2, b"widemargin: interrupted before anything was done\n")
    os._exit(130)


if __name__ == "__main__":
    main()
