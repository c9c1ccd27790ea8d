"""`widemargin`: the commands and their options. The work is imported when a command runs."""

from __future__ import annotations

import sys

import click

from widemargin import __version__


class Program(click.Group):
    """Turns errors into one line and an exit code: 1 bad data or model, 2 usage, 130 Ctrl-C."""

    def invoke(self, ctx: click.Context) -> None:
        """Run a command."""
        from widemargin.errors import DataError, ModelFileError

        try:
            super().invoke(ctx)
        except (DataError, ModelFileError, OSError) as error:
            _end(str(error), 1)
        except ValueError as error:
            _end(str(error), 2)
        except MemoryError:
            _end("not enough memory", 1)
        except KeyboardInterrupt:
            _end("interrupted", 130)


def _end(message: str, code: int) -> None:
    click.echo(f"widemargin: {' '.join(message.split())}", err=True)
    sys.exit(code)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="widemargin")
def main() -> None:
    """Learn linear classifiers from mistakes, fast, and see what happened.

    \b
    Examples:
      widemargin train                          the embedded digits, averaged perceptron
      widemargin train --keep vote --epochs 30  voted, for longer
      widemargin train --learner pa --C 0.01    passive-aggressive
      widemargin train --json                   figures for a program to read
    """


@main.command()
@click.option("--model", "path", default="digits.wm", show_default=True, help="Where to save.")
@click.option(
    "--learner",
    type=click.Choice(["perceptron", "pa", "logistic"]),
    default="perceptron",
    show_default=True,
    help="What learns.",
)
@click.option("--rule", help="Its step rule: perceptron, margin, pa, pa1, pa2 or logistic.")
@click.option(
    "--keep",
    type=click.Choice(["last", "average", "vote"]),
    help="What answers (average).",
)
@click.option("--epochs", type=int, help="Passes at the most (10).")
@click.option("--eta", type=float, help="Step size (1).")
@click.option("--power", type=float, help="Let the step size decay as eta/t^POWER.")
@click.option("--C", "C", type=float, help="What an error may cost (pa rules; 1).")
@click.option("--l2", type=float, help="Penalty on the weights (logistic; 0).")
@click.option("--batch", help="Examples an update, or 'full' (1).")
@click.option(
    "--shuffle",
    type=click.Choice(["blocks", "rows", "once", "draw", "no"]),
    help="The order of an epoch (blocks: reshuffled, in runs that suit the memory).",
)
@click.option(
    "--multiclass",
    type=click.Choice(["joint", "ovr"]),
    help="Learn classes together (joint) or one against the rest.",
)
@click.option("--valid", "validation", type=float, help="Fraction for early stopping.")
@click.option("--max-seconds", type=float, help="Stop after this time.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of chance.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def train(path: str, learner: str, as_json: bool, quiet: bool, **options: object) -> None:
    """Train a classifier and save it.

    Trains on the embedded set, scikit-learn's handwritten digits, with a fifth held out to
    measure the result.
    """
    from widemargin.cli.train import train as work

    sys.exit(work(path, learner, options, as_json, quiet))


@main.command()
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def warmup(quiet: bool) -> None:
    """Compile every loop once, so that no later run has to."""
    from widemargin.cli.warmup import warmup as work

    work(quiet)
