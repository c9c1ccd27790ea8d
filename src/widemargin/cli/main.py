"""`widemargin`: the commands and their options. The work is imported when a command runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from widemargin import __version__
from widemargin.cli import options

_LEARNERS = (
    *("perceptron", "pa", "logistic", "svm", "kernel-perceptron", "kernel-svm", "tagger", "parser"),
)


class Program(click.Group):
    """Turns errors into one line and an exit code: 1 bad data or model, 2 usage, 130 Ctrl-C."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program."""
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(2)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "widemargin"
            _end(f"{error.format_message()} ({command} --help tells more)", 2)
        except click.Abort:
            _end("interrupted", 130)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> None:
        """Run a command."""
        from widemargin.errors import DataError, ModelFileError

        try:
            super().invoke(ctx)
        except BrokenPipeError:
            raise  # who reads has seen enough: click ends the program without a word
        except OSError as error:
            _end(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
        except (DataError, ModelFileError) as error:
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
      widemargin train                                  the embedded digits
      widemargin train spam.tsv --model spam.wm         label <TAB> text, a document a line
      widemargin test spam.wm new.tsv                   accuracy, F1, confusion
      echo "win a prize" | widemargin predict spam.wm   a label for each line
      widemargin inspect spam.wm                        what it learned, and how
    """


@main.command()
@click.argument("files", nargs=-1)
@click.option("--model", "path", help="Where to save (model.wm; the embedded set: digits.wm).")
@click.option(
    "--learner",
    type=click.Choice(_LEARNERS),
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
@click.option("--epochs", type=options.NUMBER, help="Passes at the most (10; from a pipe 1).")
@click.option("--eta", type=float, help="Step size (1).")
@click.option("--power", type=float, help="Let the step size decay as eta/t^POWER.")
@click.option("--C", "C", type=float, help="What an error may cost (pa, svm; 1). svm: also inf.")
@click.option(
    "--loss", type=click.Choice(["hinge", "squared_hinge"]), help="svm: its loss (hinge)."
)
@click.option("--tol", type=float, help="svm: the relative duality gap to reach (0.001).")
@click.option("--bias", type=click.Choice(["regularised", "free"]), help="svm: what a bias costs.")
@options.kernels
@options.budgets
@click.option("--l2", type=float, help="Penalty on the weights (logistic; 0).")
@click.option("--batch", help="Examples an update, or 'full' (1).")
@click.option(
    "--shuffle",
    type=click.Choice(["blocks", "rows", "once", "draw", "no"]),
    help="The order of an epoch (blocks: reshuffled, in runs that suit the memory).",
)
@click.option(
    "--multiclass",
    type=click.Choice(["joint", "ovr", "ovo"]),
    help="Learn classes together (joint), one against the rest, or (kernel-svm) in pairs.",
)
@click.option("--valid", help="Early stopping: a file, or a fraction of the examples.")
@click.option("--patience", type=int, help="Epochs to wait for a better held-out score (5).")
@click.option("--max-seconds", type=float, help="Stop after this time.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The seed of chance."
)
@options.reading
@options.encoding
@click.option("--memory", default="2GB", show_default=True, help="Room for the examples.")
@click.option("--stream", is_flag=True, help="Read the files anew in every epoch.")
@click.option("--cache", is_flag=True, help="Keep the parsed examples in FILE.wmc.")
@click.option("--checkpoint", help="A folder in which to save now and then.")
@click.option(
    "--checkpoint-every", type=click.FloatRange(0), default=30.0, help="Seconds between (30)."
)
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint.")
@options.sentences
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def train(files: tuple[str, ...], learner: str, **given: object) -> None:
    """Train a classifier on FILES and save it.

    FILES may be svmlight, VW, CSV, TSV, Parquet, JSON lines or labelled text, compressed or not,
    patterns, or - for standard input. Without any, it trains on the embedded set, scikit-learn's
    handwritten digits, with a fifth held out to measure the result. A tagger learns from CoNLL
    columns or CoNLL-U, a parser from CoNLL-U.

    \b
    Examples:
      widemargin train
      widemargin train a9a.svm --valid a9a.t --learner pa --C 0.01
      widemargin train a9a.svm --learner svm --C 0.1
      widemargin train --learner kernel-perceptron --kernel rbf --gamma scale
      widemargin train reviews.jsonl.xz --text text --label label --ngrams 2 --model m.wm
      zcat logs.svm.gz | widemargin train - --model logs.wm
      widemargin train --learner tagger --column upos train.conllu --valid dev.conllu
      widemargin train --learner parser train.conllu --valid dev.conllu --model en.wm
    """
    from widemargin.cli.run import run_train

    sys.exit(run_train(files, learner, given))


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1)
@options.reading
@click.option("--text", multiple=True, help="Table: the column of texts.")
@click.option("--scores", is_flag=True, help="Also print the score of every class.")
@click.option("--proba", is_flag=True, help="Also print probabilities (logistic models).")
def predict(model: str, files: tuple[str, ...], **given: object) -> None:
    """Print the label that MODEL gives to each example of FILES, or of standard input.

    Texts may come with labels, which are not looked at, or one a line without. From a pipe each
    line is answered as it comes.

    \b
    Examples:
      widemargin predict m.wm new.svm > labels.txt
      echo "what a wonderful film" | widemargin predict m.wm
      widemargin predict m.wm reviews.jsonl --scores
    """
    from widemargin.cli.predict import predict as work

    work(model, files, given)


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1, required=True)
@options.reading
@click.option("--text", multiple=True, help="Table: the column of texts.")
@click.option("--column", help="Tagger: the column of the right tags (as in training).")
@click.option("--encoding", help="Sentences: how characters are written (utf-8).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def test(model: str, files: tuple[str, ...], **given: object) -> None:
    """Measure MODEL on the labelled examples of FILES.

    Of a tagger: accuracy, also on unseen words, F1 of spans as conlleval counts it. Of a parser:
    UAS and LAS. Of both the commonest errors, with examples.

    \b
    Examples:
      widemargin test m.wm test.jsonl.xz
      widemargin test en.wm test.conllu
    """
    from widemargin.cli.test import test as work

    work(model, files, given)


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1)
@options.asking
@click.option("--column", help="Where to write the tags (the column that was learned).")
@click.option("--write", type=click.Choice(["conll", "conllu"]), help="Plain text: what to write.")
def tag(model: str, files: tuple[str, ...], **given: object) -> None:
    """Print the sentences of FILES, or of standard input, with the tags that MODEL gives.

    A CoNLL-U file is written as it was but for the tags; other columns get one more unless they
    have that of the tags; plain text, a sentence a line, becomes columns.

    \b
    Examples:
      widemargin tag en.wm new.conllu > tagged.conllu
      echo "Time flies like an arrow" | widemargin tag en.wm -
    """
    from widemargin.cli.annotate import tag as work

    work(model, files, given)


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1)
@options.asking
def parse(model: str, files: tuple[str, ...], **given: object) -> None:
    """Print the sentences of FILES, or of standard input, with trees, as CoNLL-U.

    \b
    Examples:
      widemargin parse en.wm new.conllu > parsed.conllu
      echo "Time flies like an arrow" | widemargin parse en.wm
    """
    from widemargin.cli.annotate import parse as work

    work(model, files, given)


@main.command()
@click.argument("model")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="Features a class."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def inspect(model: str, top: int, as_json: bool) -> None:
    """Show what MODEL is, how it was trained, and its strongest features."""
    from widemargin.cli.inspect import inspect as work

    work(model, top, as_json)


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1, required=True)
@click.option("--row", type=click.IntRange(1), default=1, show_default=True, help="Which example.")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="How many features."
)
@options.reading
@click.option("--text", multiple=True, help="Table: the column of texts.")
def explain(model: str, files: tuple[str, ...], row: int, top: int, **given: object) -> None:
    """Say which features decided what MODEL predicts for one example of FILES.

    \b
    Example:
      widemargin explain m.wm test.jsonl --row 17
    """
    from widemargin.cli.inspect import explain as work

    work(model, files, row, top, given)


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1, required=True)
@click.option("--model", "target", help="Where to save (MODEL itself).")
@click.option("--epochs", type=click.IntRange(1), help="Passes over the new examples (1).")
@options.reading
@click.option("--text", multiple=True, help="Table: the column of texts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def update(model: str, files: tuple[str, ...], target: str | None, **given: object) -> None:
    """Let MODEL go on learning from FILES, also new classes.

    \b
    Example:
      widemargin update m.wm today.svm
    """
    from widemargin.cli.update import update as work

    sys.exit(work(model, files, target or model, given))


@main.command()
@click.argument("source")
@click.argument("target")
@options.reading
@options.encoding
def convert(source: str, target: str, **given: object) -> None:
    """Convert SOURCE into TARGET.

    A model becomes a LIBLINEAR model, a LIBLINEAR model becomes one of ours, and examples become a
    cache that is mapped into memory when it is trained on.

    \b
    Examples:
      widemargin convert m.wm m.liblinear
      widemargin convert m.liblinear m.wm
      widemargin convert train.svm train.wmc && widemargin train train.wmc
    """
    from widemargin.cli.convert import convert as work

    work(source, target, given)


@main.command()
@click.argument("files", nargs=-1, required=True)
@options.reading
@options.encoding
@options.kernels
@click.option("--no-bias", is_flag=True, help="Only hyperplanes through the origin.")
@click.option("--margin", type=float, help="Ask for at least this margin.")
@click.option("--tol", type=float, default=1e-6, show_default=True, help="Of the margin.")
@click.option(
    "--multiclass",
    type=click.Choice(["pairs", "rest"]),
    default="pairs",
    show_default=True,
    help="Several classes: two at a time, or each against the rest.",
)
@click.option("--max-seconds", type=float, help="Give up after about this time.")
@click.option("--verify", is_flag=True, help="Check the proof again, in exact arithmetic.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def certify(files: tuple[str, ...], **given: object) -> None:
    """Decide, with proof, whether a hyperplane separates the classes in FILES.

    With --kernel in its feature space, where only hyperplanes through the origin count, as for a
    kernel perceptron.

    \b
    Examples:
      widemargin certify train.svm --verify
      widemargin certify train.svm --kernel poly --degree 2
    """
    from widemargin.cli.certify import certify as work

    work(files, given)


@main.command()
@click.argument("model")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", required=True, help="The page to write, such as out.html.")
@options.reading
@click.option("--text", multiple=True, help="Table: the column of texts.")
def report(model: str, files: tuple[str, ...], output: str, **given: object) -> None:
    """Write an HTML page about MODEL: what it learned, and what it is worth.

    With labelled FILES the page also says how good its answers are, and shows its worst mistakes.

    \b
    Example:
      widemargin report m.wm test.jsonl.xz -o m.html
    """
    from widemargin.cli.pages import report as work

    work(model, files, output, given)


@main.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--learners", help="Some of them, with semicolons between (all).")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts.")
@click.option("--repeats", type=click.IntRange(1), default=2, show_default=True, help="Times.")
@click.option("--C", "C", type=float, default=1.0, show_default=True, help="What an error costs.")
@click.option("--epochs", type=click.IntRange(1), default=10, show_default=True, help="Passes.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of chance.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.option("--report", "page", help="Also write an HTML page.")
@options.reading
@options.encoding
def compare(files: tuple[str, ...], **given: object) -> None:
    """Compare learners on the examples of FILES, and say which differences are real.

    Perceptrons (last, averaged, voted), passive-aggressive, SVMs and scikit-learn's logistic
    regression learn and answer on the same parts of the examples.

    \b
    Examples:
      widemargin compare a9a.svm --report a9a.html
      widemargin compare spam.tsv --learners "linear SVM; logistic regression"
    """
    from widemargin.cli.compare import compare as work

    work(files, given)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands and options.

    \b
    Example:
      widemargin completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "widemargin", "_WIDEMARGIN_COMPLETE").source())


@main.command()
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def warmup(quiet: bool) -> None:
    """Compile every loop once, so that no later run has to."""
    from widemargin.cli.warmup import warmup as work

    work(quiet)
