"""`widemargin`: the commands and their options. Each command imports its code when it runs."""

from __future__ import annotations

import sys

import click

from widemargin import __version__
from widemargin.cli import options
from widemargin.cli.program import Program
from widemargin.cli.train_options import TrainCommand, train_options


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="widemargin")
def main() -> None:
    """Train linear, kernel and structured classifiers, and see what they learned.

    \b
    Examples:
      widemargin train                                  the embedded digits
      widemargin train spam.tsv --model spam.wm         one document per line: label <TAB> text
      widemargin test spam.wm new.tsv                   accuracy, F1, confusion
      echo "win a prize" | widemargin predict spam.wm   one label per line
      widemargin inspect spam.wm                        what it learned, and how
    """


@main.command(cls=TrainCommand)
@click.argument("files", nargs=-1)
@train_options
def train(files: tuple[str, ...], learner: str | None, **given: object) -> None:
    """Train a model on FILES and save it.

    FILES may be svmlight, VW, CSV, TSV, Parquet, JSON lines or labelled text, compressed or not,
    given by name, by pattern, or as - for standard input. A tagger learns from CoNLL columns or
    CoNLL-U, a parser from CoNLL-U. Without FILES, the learner is trained on the embedded data set,
    scikit-learn's handwritten digits, with a fifth held out to measure the result.

    \b
    Examples:
      widemargin train
      widemargin train a9a.svm --valid a9a.t --learner pa --C 0.01
      widemargin train a9a.svm --learner svm --C 0.1
      widemargin train fraud.csv --label fraud --valid 0.2 --threshold recall=0.9
      widemargin train --learner kernel-perceptron --kernel rbf --gamma scale
      widemargin train reviews.jsonl.xz --text text --label label --ngrams 2 --model m.wm
      zcat logs.svm.gz | widemargin train - --model logs.wm
      widemargin train --learner tagger --column upos train.conllu --valid dev.conllu
      widemargin train --learner parser train.conllu --valid dev.conllu --model en.wm
    """
    from widemargin.cli.train import train as work

    sys.exit(work(files, learner, given, options.typed_options()))


@main.command(short_help="Print the label that MODEL predicts for each example.")
@click.argument("model")
@click.argument("files", nargs=-1)
@options.reading
@click.option("--text", multiple=True, help="Tables: the column of texts.")
@click.option("--scores", is_flag=True, help="Also print the score of every class.")
@click.option("--proba", is_flag=True, help="Also print probabilities (logistic models only).")
def predict(model: str, files: tuple[str, ...], **given: object) -> None:
    """Print the label that MODEL predicts for each example of FILES, or of standard input.

    Texts may have labels, which are ignored, or stand alone, one per line. Lines from a pipe are
    answered as they arrive.

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
@click.option("--text", multiple=True, help="Tables: the column of texts.")
@options.words
@click.option("--column", help="Taggers: the column of the gold tags (default: as in training).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def test(model: str, files: tuple[str, ...], **given: object) -> None:
    """Measure MODEL on the labelled examples of FILES.

    For classifiers this prints accuracy, precision, recall, F1 and the confusion table, and for two
    classes how well the rarer one is found (AUC, average precision), with 95 % intervals; for
    taggers the accuracy, also on unseen words, and span F1 as conlleval computes it; for parsers
    UAS and LAS. For taggers and parsers it also shows the most frequent errors, with examples.

    \b
    Examples:
      widemargin test m.wm test.jsonl.xz
      widemargin test en.wm test.conllu
    """
    from widemargin.cli.test import test as work

    work(model, files, given)


@main.command(short_help="Print sentences with the tags that MODEL predicts.")
@options.annotating
@click.option(
    "--column", help="Column to write the tags to (default: the column that was learned)."
)
@click.option(
    "--write",
    type=click.Choice(["conll", "conllu"]),
    help="Output format (default: that of the input; for plain text conll).",
)
@click.option(
    "--margins",
    is_flag=True,
    help="Also print the margin of each tag: how far its score leads the next best.",
)
@click.option("--proba", is_flag=True, help="Also print the probability of each tag.")
@click.option(
    "--temperature",
    type=float,
    help="Number to divide scores by for --proba; the lower, the more confident the probabilities"
    " (default: the model's, which is 1 unless it was trained with --calibrate).",
)
@click.option(
    "--calibrate",
    metavar="FILE",
    help="Tagged sentences that were not used in training; the temperature for --proba is fitted"
    " to them.",
)
def tag(model: str, files: tuple[str, ...], **given: object) -> None:
    """Print the sentences of FILES, or of standard input, with the tags that MODEL predicts.

    MODEL is a tagger, a lemmatizer or a morphologizer; the last two need sentences with tags.

    CoNLL-U is copied, except for the tags. Files of columns get one more column, unless they
    already have a column for the tags. Plain text, one sentence per line, becomes columns; input
    from a pipe is taken as plain text unless --format says otherwise. Margins and probabilities
    are added as columns, or in CoNLL-U to MISC, as Margin=1.25 and Proba=0.98.

    \b
    Examples:
      widemargin tag en.wm new.conllu > tagged.conllu
      echo "Time flies like an arrow" | widemargin tag en.wm -
    """
    from widemargin.cli.annotate import tag as work

    work(model, files, given)


@main.command(short_help="Print sentences with the trees that MODEL predicts.")
@options.annotating
@click.option(
    "--margins",
    is_flag=True,
    help="Also print the margin of each head: how far its score leads the next best.",
)
@click.option(
    "--draw",
    type=click.Choice(["text", "svg"]),
    help="Draw the trees instead: as lines of text, or as one SVG document.",
)
@click.option(
    "--input",
    type=click.Choice(["text", "sentences", "tokens", "conllu"]),
    help="Annotators: format of the input: raw text; one sentence per line; one sentence per line"
    " with spaces between its tokens; or CoNLL-U (default: conllu for files of that name,"
    " otherwise text).",
)
@click.option(
    "--write",
    type=click.Choice(["conllu", "json", "table", "trees"]),
    help="Annotators: format of the output: CoNLL-U; one JSON object per sentence; one line per"
    " word, with columns separated by tabs; or trees drawn as text (default: conllu).",
)
def parse(model: str, files: tuple[str, ...], **given: object) -> None:
    """Print the sentences of FILES, or of standard input, with the trees that MODEL predicts.

    The output is CoNLL-U; margins are added to MISC, as Margin=1.25.

    If MODEL is an annotator (train --learner annotator), the input is raw text, in which it also
    finds sentences, words, tags, morphology and lemmas. An empty line ends a paragraph; paragraphs
    are printed as they arrive.

    \b
    Examples:
      widemargin parse en.wm < letters.txt > letters.conllu
      widemargin parse en.wm letters.txt --write json
      widemargin parse trees.wm new.conllu > parsed.conllu
      echo "Time flies like an arrow" | widemargin parse trees.wm --draw text
      widemargin parse trees.wm letters.txt --tokenizer words.wm > letters.conllu
    """
    from widemargin.cli.annotate import parse as work

    work(model, files, given)


@main.command(short_help="Cut raw text into sentences and words.")
@click.argument("model")
@click.argument("files", nargs=-1)
@options.encoded
@options.threads
@click.option(
    "--write",
    type=click.Choice(["conllu", "text"]),
    default="conllu",
    help="CoNLL-U, or text: one sentence per line, words separated by spaces (default: conllu).",
)
def tokenize(model: str, files: tuple[str, ...], **given: object) -> None:
    """Cut the raw text of FILES, or of standard input, into sentences and words.

    MODEL is a tokenizer: train --learner tokenizer learns one from a treebank in CoNLL-U. An empty
    line ends a paragraph, and so a sentence. MISC records where each token is (TokenRange=0:4), and
    that no space follows it (SpaceAfter=No).

    \b
    Examples:
      widemargin tokenize words.wm letters.txt > letters.conllu
      echo "Dr. No? I don't know." | widemargin tokenize words.wm --write text
    """
    from widemargin.cli.tokenizer import tokenize as work

    work(model, files, given)


@main.command(short_help="Show what MODEL is, how it was trained, and its top features.")
@click.argument("model")
@options.count("--top", "Number of features to show per class.", default=10)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def inspect(model: str, top: int, as_json: bool) -> None:
    """Show what MODEL is, how it was trained, and its strongest features."""
    from widemargin.cli.inspect import inspect as work

    work(model, top, as_json)


@main.command(short_help="Show which features decided what MODEL predicts.")
@click.argument("model")
@click.argument("files", nargs=-1, required=True)
@options.count("--row", "Number of the example or sentence, counted from 1.", default=1, least=1)
@click.option(
    "--token",
    type=click.IntRange(1),
    help="Taggers and parsers: the word of the sentence, counted from 1 (default: the one that"
    " MODEL is least certain of).",
)
@options.count("--top", "Number of features to show.", default=10)
@options.reading
@click.option("--text", multiple=True, help="Tables: the column of texts.")
def explain(model: str, files: tuple[str, ...], row: int, top: int, **given: object) -> None:
    """Show which features decided what MODEL predicts for one example of FILES.

    For a kernel model it shows rows of the training data instead, counted from 1. For a tagger or a
    parser, it shows the predictions for a whole sentence with their margins, and explains one of
    them.

    \b
    Examples:
      widemargin explain m.wm test.jsonl --row 17
      widemargin explain en.wm test.conllu --row 17 --token 3
    """
    from widemargin.cli.inspect import explain as work

    work(model, files, row, top, given)


@main.command(short_help="Continue training MODEL on FILES.")
@click.argument("model")
@click.argument("files", nargs=-1, required=True)
@click.option("--model", "target", help="File to save the model in (default: MODEL itself).")
@options.force
@click.option(
    "--epochs",
    type=click.IntRange(1),
    help="Number of passes over the new examples (default: 1).",
)
@click.option(
    "--predictions",
    is_flag=True,
    help="Print the prediction for each example before learning from it, line by line as the"
    " examples arrive; those without a label are only predicted. The summary goes to standard"
    " error.",
)
@options.reading
@click.option("--text", multiple=True, help="Tables: the column of texts.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@options.quiet
def update(model: str, files: tuple[str, ...], target: str | None, **given: object) -> None:
    """Continue training MODEL on FILES, which may contain new classes.

    With --predictions, examples are learned from in the order in which they arrive, and each line
    of a pipe (-) is answered at once. The model is saved even if the command is interrupted.

    \b
    Examples:
      widemargin update m.wm today.svm
      cat clicks.vw | widemargin update clicks.wm - --predictions --quiet
    """
    from widemargin.cli.update import update as work

    sys.exit(work(model, files, model if target is None else target, given))


@main.command()
@click.argument("source")
@click.argument("target")
@options.force
@options.reading
@options.encoding
def convert(source: str, target: str, **given: object) -> None:
    """Convert SOURCE into TARGET.

    A widemargin model becomes a LIBLINEAR model, and vice versa. Examples become a cache, which
    `widemargin train` maps into memory instead of parsing text.

    \b
    Examples:
      widemargin convert m.wm m.liblinear
      widemargin convert m.liblinear m.wm
      widemargin convert train.svm train.wmc && widemargin train train.wmc
    """
    from widemargin.cli.convert import convert as work

    work(source, target, given)


@main.command(short_help="Decide, with proof, whether a hyperplane separates the classes.")
@click.argument("files", nargs=-1, required=True)
@options.reading
@options.encoding
@options.kernels
@click.option("--no-bias", is_flag=True, help="Consider only hyperplanes through the origin.")
@click.option("--margin", type=float, help="Require a margin of at least this size.")
@click.option(
    "--tol",
    type=float,
    default=1e-6,
    show_default=True,
    help="Relative precision of the largest margin.",
)
@click.option(
    "--multiclass",
    type=click.Choice(["pairs", "rest"]),
    default="pairs",
    show_default=True,
    help="With several classes: separate them in pairs, or each from the rest.",
)
@click.option("--max-seconds", type=float, help="Give up after about this many seconds.")
@click.option("--verify", is_flag=True, help="Check the proof again, in exact arithmetic.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def certify(files: tuple[str, ...], **given: object) -> None:
    """Decide, with proof, whether a hyperplane separates the classes in FILES.

    With --kernel, the hyperplane is sought in the kernel's feature space, through the origin, as a
    kernel perceptron's is.

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
@click.option("-o", "--output", required=True, help="File to write, such as out.html.")
@options.reading
@click.option("--text", multiple=True, help="Tables: the column of texts.")
@click.option("--column", help="Taggers: the column of the gold tags (default: as in training).")
def report(model: str, files: tuple[str, ...], output: str, **given: object) -> None:
    """Write an HTML page about MODEL: what it learned, and how well.

    With labelled FILES the page also shows how well it predicts them, and its worst mistakes.

    \b
    Examples:
      widemargin report m.wm test.jsonl.xz -o m.html
      widemargin report en.wm test.conllu -o en.html
    """
    from widemargin.cli.report import report as work

    work(model, files, output, given)


@main.command(short_help="Compare learners, and report which differ significantly.")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--learners",
    help="Learners to compare, separated by commas: svm, pa, ... as in train, or names from the"
    " table such as 'voted perceptron' (default: all, except the kernel SVM where it would take"
    " too long).",
)
@options.count("--folds", "Number of folds of the cross-validation.", default=5, least=2)
@options.count(
    "--repeats",
    "Number of times to repeat the cross-validation, each with different folds.",
    default=2,
    least=1,
)
@click.option("--C", "C", type=float, help="Cost of an error (default: 1; for texts 2).")
@options.count("--epochs", "Number of epochs of the online learners.", default=10, least=1)
@options.count("--seed", "Random seed.", default=0)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("-o", "--output", "--report", "page", help="Also write an HTML page to this file.")
@options.reading
@options.encoding
def compare(files: tuple[str, ...], **given: object) -> None:
    """Compare learners on the examples of FILES, and report which differences are significant.

    Perceptrons (last, averaged, voted), passive-aggressive learners, SVMs and scikit-learn's
    logistic regression are trained and tested on the same folds.

    \b
    Examples:
      widemargin compare a9a.svm -o a9a.html
      widemargin compare spam.tsv --learners svm,perceptron
    """
    from widemargin.cli.compare import compare as work

    work(files, given)


@main.command(short_help="Open a page where you watch learners learn, step by step.")
@click.argument("file", required=False)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on, at 127.0.0.1 only (default: any free port).",
)
@click.option(
    "--browser/--no-browser",
    default=True,
    help="Whether to open the page in a browser (default: yes).",
)
@options.reading
def lab(file: str | None, **given: object) -> None:
    """Open a page where you place points and watch learners learn, step by step.

    With FILE, the page can also show its examples: two of their columns, or a projection. The page
    is served to this machine only, at an address that cannot be guessed. Needs pip install
    'widemargin[lab]'.

    \b
    Examples:
      widemargin lab
      widemargin lab iris.csv --label species
    """
    from widemargin.cli.lab import lab as work

    work(file, given)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that makes SHELL complete commands and options.

    \b
    Example:
      widemargin completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "widemargin", "_WIDEMARGIN_COMPLETE").source())


@main.command(short_help="Serve predictions of MODELS over HTTP.")
@click.argument("models", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@options.count("--workers", "Number of worker processes.", default=1, least=1)
@click.option(
    "--token",
    multiple=True,
    envvar="WIDEMARGIN_TOKEN",
    help="A secret that clients must send in each request (Authorization: Bearer TOKEN); required"
    " if --host lets other machines connect. May be given several times. Other users of this"
    " machine can see command lines, so prefer --token-file or the environment variable"
    " WIDEMARGIN_TOKEN.",
)
@click.option("--token-file", metavar="FILE", help="A file of tokens, one per line.")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A host name that clients may use for this server, such as that of a proxy in front of"
    " it. May be given several times.",
)
@options.count("--max-body", "Largest request body, in bytes.", default=4_000_000, least=1)
@options.count("--max-rows", "Largest number of examples per request.", default=10_000, least=1)
@click.option(
    "--max-seconds",
    type=options.Amount(0.1),
    default=30.0,
    show_default=True,
    help="Time limit of a request, in seconds.",
)
@options.count(
    "--max-requests", "Largest number of concurrent requests per process.", default=128, least=1
)
@options.count(
    "--max-connections", "Largest number of connections per process.", default=1024, least=1
)
@click.option(
    "--wait-ms",
    type=options.Amount(0.0, 1000.0),
    default=0.0,
    show_default=True,
    help="Milliseconds that a request waits for others to be answered in the same batch; 0 batches"
    " only requests that arrive together.",
)
@click.option("--quiet", is_flag=True, help="Log no requests.")
@click.option(
    "--grace",
    type=options.Amount(0.0),
    default=10.0,
    show_default=True,
    help="Seconds that running requests have to finish when the server stops.",
)
def serve(models: tuple[str, ...], **given: object) -> None:
    """Serve predictions of MODELS over HTTP, until SIGTERM or Ctrl-C.

    POST /predict takes JSON, JSON lines, text, CSV, svmlight or CoNLL, as the Content-Type says;
    /explain shows what decided a prediction; /models, /openapi.json, /metrics, /healthz and /readyz
    describe the server; the page at / is for trying models by hand. When a model file is replaced,
    the new model is loaded without losing a request. Each request is logged as one line of JSON.

    \b
    Examples:
      widemargin serve spam.wm
      widemargin serve spam.wm en.wm --port 8080 --workers 2
      widemargin serve spam.wm --host 0.0.0.0 --token-file tokens
      curl -H "Content-Type: text/plain" -d "win a prize" localhost:8000/predict
    """
    from widemargin.cli.serve import serve as work

    sys.exit(work(models, given))


@main.command(short_help="Compile all loops now, so that later runs need not wait.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def warmup(quiet: bool) -> None:
    """Compile all loops now, so that later runs need not wait for the compiler."""
    from widemargin.cli.warmup import warmup as work

    work(quiet)
