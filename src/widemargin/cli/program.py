"""The program behind `widemargin`: how commands are parsed, and how errors end it."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from widemargin.cli.streams import give_up_output
from widemargin.cli.wording import in_shell_words


class Command(click.Command):
    """A command that refuses an option given twice, instead of ignoring the first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        if not ctx.resilient_parsing:
            try:
                _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            except click.UsageError as error:
                error.ctx = error.ctx or ctx  # click does not say which command lacks a value
                raise
            for number, option in enumerate(given):
                if option in given[:number] and _is_single(option):
                    raise click.UsageError(f"{max(option.opts, key=len)} is given twice", ctx)
        return super().parse_args(ctx, args)


def _is_single(option: click.Parameter) -> bool:
    """Whether an option has one value, or two names that contradict each other."""
    if not isinstance(option, click.Option) or option.multiple:
        return False
    return not option.is_flag or bool(option.secondary_opts)


#: The number of new objects that triggers garbage collection. With Python's default of 700, a tenth
#: of the import time goes into scanning new objects, none of which is garbage.
_OBJECTS = 50_000


_TOO_EARLY = "interrupted before anything was done"
#: Errors of a stream that cannot be written.
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
#: What Ctrl-C leaves, for commands that save something, unless the interrupt itself says more.
_NOTHING_DONE = {
    "train": " before anything was learned; no model was saved",
    "update": "; the model was not changed",
}


class Program(click.Group):
    """Turns errors into one line and an exit code: 1 bad data or model, 2 usage, 130 Ctrl-C."""

    command_class = Command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program."""
        collected_after = gc.get_threshold()
        gc.set_threshold(_OBJECTS, *collected_after[1:])
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(2)
        except click.UsageError as error:
            command, message = "widemargin", error.format_message()
            if error.ctx is not None:
                command = error.ctx.command_path
                message = in_shell_words(message, error.ctx.command)
            _end(f"{message.rstrip('.')} (see {command} --help)", 2)
        except click.Abort:
            _end(_TOO_EARLY, 130)
        finally:
            gc.set_threshold(*collected_after)
        if standalone_mode:
            gc.freeze()  # otherwise Python would scan every object for garbage at exit
            sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        """Read the command line."""
        try:
            return super().make_context(*given, **extra)
        except KeyboardInterrupt:  # click would print an empty line
            _end(_TOO_EARLY, 130)

    def invoke(self, ctx: click.Context) -> None:
        """Run a command."""
        from widemargin.errors import ClusterError, DataError, ModelFileError

        try:
            with _warnings_in_one_line():
                super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader closed the pipe: click exits without a message
        except OSError as error:
            _end(_say_what_failed(error), 1)
        except (ClusterError, DataError, ModelFileError) as error:
            _end(self._reworded(error, ctx), 1)
        except ValueError as error:
            _end(self._reworded(error, ctx), 2)
        except MemoryError:
            _end("not enough memory", 1)
        except KeyboardInterrupt as error:
            nothing = _NOTHING_DONE.get(str(ctx.invoked_subcommand), "")
            _end(f"interrupted{str(error) or nothing}", 130)

    def _reworded(self, error: Exception, ctx: click.Context) -> str:
        """The message of an error, with options instead of the parameters in Python."""
        command = self.get_command(ctx, str(ctx.invoked_subcommand))
        return str(error) if command is None else in_shell_words(str(error), command)


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print each warning about data or the cache as one line, once, unless --quiet is given."""
    from widemargin.errors import CacheWarning, DataWarning

    shown = set()
    with warnings.catch_warnings():
        for ours in (DataWarning, CacheWarning):
            warnings.simplefilter("always", ours)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, (DataWarning, CacheWarning)):
                usual(message, category, *place, **more)
                return
            context = click.get_current_context(silent=True)  # other threads have none
            told = str(message)
            if context is not None:
                told = in_shell_words(told, context.command)
            if (context is None or not context.params.get("quiet")) and told not in shown:
                click.echo(f"widemargin: {told}", err=True)
            shown.add(told)

        warnings.showwarning = show
        yield


def _end(message: str, code: int) -> NoReturn:
    click.echo(f"widemargin: {' '.join(message.split())}", err=True)
    sys.exit(code)


def _say_what_failed(error: OSError) -> str:
    """The file of an error and its reason; for a missing file, whether its folder is missing."""
    if error.filename is None:  # files are opened and written by name, except the standard streams
        if error.errno not in _WRITING:
            return error.strerror or str(error)
        give_up_output()
        return f"<stdout>: {error.strerror}"
    folder = os.path.dirname(os.fspath(error.filename))
    if error.errno == errno.ENOENT and folder and not os.path.isdir(folder):
        return f"{error.filename}: the folder {folder} does not exist"
    return f"{error.filename or repr(error.filename)}: {error.strerror}"
