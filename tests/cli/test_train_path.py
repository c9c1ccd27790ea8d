"""One training path for every learner: its options, its report, its checkpoints."""

import glob
import inspect
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from forked import Forked
from interpreted import told_by_both
from noisy_files import noisy_treebank, noisy_vectors, write_noisy_files
from shell import run

import widemargin.structured
from widemargin import load
from widemargin.cli import train_options
from widemargin.cli.learners import LEARNERS
from widemargin.cli.main import main
from widemargin.cli.train_options import GROUPS
from widemargin.modelfile.files import read_model_file
from widemargin.structured import load_parser
from widemargin.training.history import Epoch


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own, with files of rows and of sentences."""
    monkeypatch.chdir(tmp_path)
    write_noisy_files(tmp_path, rows=60, sentences=12)
    return tmp_path


#: How each learner trains on one of these files, in little time.
COMMANDS = {
    name: ["train", "f.svm", "--learner", name, "--model", f"{name}.wm"]
    for name in ("perceptron", "pa", "logistic", "svm", "kernel-perceptron", "kernel-svm")
}
for name in ("tagger", "parser"):
    COMMANDS[name] = ["train", "f.conllu", "--learner", name, "--model", f"{name}.wm"]
    COMMANDS[name] += ["--bits", "8", "--epochs", "3"]
COMMANDS["parser"] += ["--tags", "upos"]
COMMANDS["tokenizer"] = ["train", "f.conllu", "--learner", "tokenizer", "--model", "tokenizer.wm"]
COMMANDS["tokenizer"] += ["--epochs", "3"]
for name in ("lemmatizer", "morphologizer", "annotator"):
    COMMANDS[name] = ["train", "f.conllu", "--learner", name, "--model", f"{name}.wm"]
COMMANDS["lemmatizer"] += ["--tags", "upos", "--epochs", "3"]
COMMANDS["morphologizer"] += ["--column", "xpos", "--epochs", "3"]
#: Learners of sentences, and what measures them.
SENTENCES = {
    "tagger": {"accuracy", "accuracy_interval"},
    "tokenizer": {"token_f1", "sentence_f1", "word_f1"},
    "parser": {"uas", "las"},
    "lemmatizer": {"accuracy", "lemma_accuracy"},
    "morphologizer": {"accuracy", "xpos_accuracy"},
    "annotator": {"Tokens", "UPOS", "LAS"},
}

each_learner = pytest.mark.parametrize("learner", LEARNERS)
#: An annotator learns a tokenizer, taggers and a parser, and takes seconds: again in CI only.
each_but_the_slow = pytest.mark.parametrize(
    "learner",
    [
        pytest.param(name, marks=pytest.mark.exhaustive if name == "annotator" else ())
        for name in LEARNERS
    ],
)


# Options


def test_every_option_is_in_one_group_of_the_help():
    grouped = [name for group in GROUPS for name in group.names]
    assert len(grouped) == len(set(grouped))
    options = {option.name for option in main.commands["train"].params if option.name != "files"}
    assert set(grouped) == options
    assert options == {name for learner in LEARNERS.values() for name in learner.options}
    told = run("train", "--help").output
    for group in GROUPS:
        assert group.title in told
    assert re.search(r"--l2 FLOAT .*\n? *\[logistic\]", told)


@pytest.mark.parametrize("option", ["epochs", "C", "patience", "bits"])
def test_the_help_says_what_the_defaults_are(option):
    taken = [name for name in LEARNERS if option in LEARNERS[name].parameters]
    help = next(one.help for one in main.commands["train"].params if one.name == option)
    more = " ".join(train_options._MORE.get(option, []))
    # Such as "default: 10; svm 1000; tokenizer and lemmatizer 8".
    told = re.search(r"default[^:]*: ([\d.]+)(.*)", f"{help}; {more}".replace("s:", ""))
    said = dict.fromkeys(taken, float(told[1]))
    for names, value in re.findall(r"([a-z, -]+?)(?: default)? (\d+(?:\.\d+)?)", told[2]):
        said |= {name: float(value) for name in taken if re.search(rf"\b{name}\b", names)}
    for name in taken:
        given = LEARNERS[name].estimator
        found = getattr(widemargin, given, None) or getattr(widemargin.structured, given)
        default = inspect.signature(found).parameters[option].default
        if default not in (None, "auto"):  # chosen by the parser, or by the size of the corpus
            assert said[name] == default, name


def test_messages_name_options_not_parameters_of_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.svm").write_text("1 1:1\n-1 2:1\n")
    for words, told in [
        (("--C", "-3", "--learner", "pa"), "--C -3.0 must be a positive number"),
        (("--learner", "pa", "--rule", "pa", "--C", "3"), "--rule pa, only with --rule pa1 or pa2"),
        (("--delimiter", ";"), "--delimiter ';' has no effect for svmlight files"),
        (("--format", "conll"), "--format conll is for sentences"),
    ]:
        assert told in run("train", "f.svm", *words, code=2).stderr
    assert run("predict", "C=3.wm", "f.svm", code=1).stderr.startswith(
        "widemargin: C=3.wm: No such"
    )


@each_learner
def test_an_option_of_another_learner_is_refused_by_name(learner):
    options = {option.name: option for option in main.commands["train"].params}
    others = set(options) - LEARNERS[learner].options - {"files"}
    assert others
    values = {"memory": "1GB", "columns": "a", "checkpoint": "points", "folds": "3"}
    values |= {"class_weight": "balanced", "bits": "8"}
    for name in sorted(others):
        option = options[name]
        written = max(option.opts, key=len)
        choices = getattr(option.type, "choices", None)
        value = values.get(name) or (choices[0] if choices else "1")
        words = [written] if option.is_flag else [written, value]
        done = run("train", "missing", "--learner", learner, *words, code=2)
        refusal = f"widemargin: {written} is not an option of the learner {learner}"
        assert re.match(rf"{re.escape(refusal)}[ ;]", done.stderr)
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epochs", "2", "--epochs", "3"], "--epochs is given twice"),
        (["--seed=1", "--seed=1"], "--seed is given twice"),
        (["f.csv", "--header", "--no-header"], "--header is given twice"),
        (["--text", "x"], "--text has no effect without FILES"),
        (["--no-header"], "--no-header has no effect without FILES"),
        (["--stream"], "--stream has no effect without FILES"),
        (["--valid", "f.svm"], "--valid FILE has no effect without FILES"),
        (["f.svm", "--no-header"], "--no-header has no effect for svmlight files"),
        (["f.svm", "--learner", "svm", "--idf"], "--idf has no effect for svmlight files"),
        (["f.svm", "--valid", "0.1", "--no-holdout"], "--no-holdout has no effect with --valid"),
        (["f.svm", "--C", "1"], "--C has no effect with --rule perceptron, only with --rule pa1"),
        (["f.svm", "--patience", "5"], "--patience has no effect without held-out rows"),
        (["f.svm", "--patience", "5", "--no-holdout"], "--patience has no effect if nothing"),
        (["f.svm", "--patience", "5", "--stream"], "cannot be split: give --valid a file"),
        (
            ["f.svm", "--learner", "kernel-svm", "--coef0", "1"],
            "--coef0 has no effect with --",
        ),
        (["f.conllu", "--learner", "tagger", "--shuffle", "once"], "must be blocks or no"),
        (["f.conllu", "--learner", "tagger", "--column", "a", "--column", "b"], "one column"),
        (["f.conllu", "--learner", "parser", "--C", "1"], "--C has no effect with --system"),
        (["f.conllu", "--learner", "parser", "--tags", "a,b,c,d"], "one to 3 different columns"),
    ],
)
def test_what_has_no_effect_is_refused(words, message, folder):
    before = set(os.listdir())
    done = run("train", *words, "--quiet", code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert set(os.listdir()) == before


@pytest.mark.parametrize("words", [["upos,xpos"], ["upos", "--tags", "xpos"]])
@pytest.mark.parametrize("own", [[], ["own", "--tags"]])
def test_a_parser_takes_several_columns_of_tags(words, own):
    run(*COMMANDS["parser"][:-1], *own, *words, "--quiet")
    model = load_parser("parser.wm")
    assert model.columns == ("upos", "xpos")
    assert [tagger.column for tagger in model.taggers] == (["upos", "xpos"] if own else [])


# The report


@each_but_the_slow
def test_with_the_compiler_off_models_are_saved_and_reported_the_same(learner, folder):
    """Loops then count with numpy's integers, which JSON does not take."""
    write_noisy_files(folder, rows=12, sentences=2)
    words = [*COMMANDS[learner], "--json"]
    if learner == "svm":  # whether a last change of the squared hinge's is zero depends on rounding
        words += ["--loss", "hinge"]
    script = (
        "import json\nfrom shell import run_shell\n"
        "from widemargin.modelfile.files import read_model_file\n"
        f"told = json.loads(run_shell({str(folder)!r}, *{words!r}).stdout)\n"
        "about = read_model_file(told['model'])[1]\n"
        "counts = [row[:3] for row in about.get('history', {'epochs': []})['epochs']]\n"
        "print(json.dumps([told['epochs'], told['stopped'], told.get('mistakes'), counts]))"
    )
    compiled, interpreted = told_by_both(script)
    assert compiled == interpreted
    assert compiled.startswith("[")


@each_but_the_slow
def test_one_report_for_every_learner(learner):
    words = [*COMMANDS[learner], "--valid", COMMANDS[learner][1]]
    found = json.loads(run(*words, "--json").stdout)
    assert found["learner"] == LEARNERS[learner].estimator
    sentences = learner in SENTENCES
    what = "sentences" if sentences else "rows"
    assert found[what] == found[f"held_out_{what}"] == (12 if sentences else 60)
    shared = {"epochs", "stopped", "seconds", "model"}
    shared |= SENTENCES.get(learner, {"accuracy", "accuracy_interval"})
    shared |= {"primal", "dual", "gap"} if "svm" in learner else {"mistakes"}
    assert shared <= set(found)
    assert not sentences or found["bytes"] == os.stat(f"{learner}.wm").st_size


@each_but_the_slow
def test_what_is_printed_for_every_learner(learner):
    words = [*COMMANDS[learner], "--valid", COMMANDS[learner][1]]
    told = run(*words).stdout
    assert f"model saved to {os.path.abspath(f'{learner}.wm')}" in told
    assert ("mistakes while learning" in told) == ("svm" not in learner)
    assert run(*words, "--quiet").output == ""


@pytest.mark.parametrize("learner", ["perceptron", "kernel-perceptron", "tagger", "parser"])
def test_a_training_that_runs_out_of_time_says_so(learner):
    words = [word for word in COMMANDS[learner] if word not in ("--epochs", "3")]
    done = run(*words, "--epochs", "100000", "--max-seconds", "1e-6", "--json")
    assert json.loads(done.stdout)["stopped"] == "deadline"


# Checkpoints


def everything(model):
    """All that a model file says, except for seconds."""
    arrays, about = read_model_file(model)
    for epoch in about["history"]["epochs"]:
        epoch[Epoch._fields.index("seconds")] = None
    return {name: a.tobytes() for name, a in arrays.items() if name != "sha256"}, about


RESUMED = {
    "kernel-perceptron": ["big.svm", "--epochs", "30", "--gamma", "0.5", "--memory", "1MB"],
    "tagger": ["big.conllu", "--epochs", "100", "--bits", "10", "--column", "upos"],
    "parser": ["big.conllu", "--epochs", "40", "--bits", "10", "--tags", "upos"],
    "perceptron": ["--epochs", "1500"],  # the embedded digits
}


def kill_at_a_checkpoint(words, seconds):
    """Start a training and kill it a moment after it has written its first checkpoint."""
    process = Forked("-m", "widemargin", *words)
    while not glob.glob("points/*.wm") and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("learner", RESUMED)
def test_a_killed_training_resumes_to_the_same_file(learner, folder):
    (folder / "big.svm").write_text(noisy_vectors(600))
    (folder / "big.conllu").write_text(noisy_treebank(300))
    words = ["train", *RESUMED[learner], "--learner", learner, "--quiet"]
    run(*words, "--model", "alone.wm")
    words += ["--checkpoint", "points", "--checkpoint-every", "0", "--model", "killed.wm"]
    for attempt in range(1, 9):  # a quick machine may be done before it can be killed
        kill_at_a_checkpoint(words, random.uniform(0.0, 0.2 / attempt))
        if not os.path.exists("killed.wm"):
            break
        os.unlink("killed.wm")
        # Killed between saving and tidying up, it has left a checkpoint that is not the next one's.
        shutil.rmtree("points")
    else:
        pytest.fail("it was always done before it could be killed")
    if learner != "parser":  # whose files are resumed one by one
        changed = [*words, "--resume", "--seed", "7"]
        assert "checkpoint of another training (--seed differ)" in run(*changed, code=1).stderr
    run(*words, "--resume")
    assert everything("killed.wm") == everything("alone.wm")
    assert os.listdir("points") == []


def test_a_training_loads_no_other_learner():
    program = (
        "import sys\nfrom widemargin.cli.main import main\n"
        "try:\n    main(['train', 'f.svm', '--quiet'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.startswith(('widemargin.kernel_machines',"
        " 'widemargin.structured', 'widemargin.tuning', 'sklearn'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_weights_in_files_are_remembered(stream, folder):
    (folder / "plain.vw").write_text("1 | a:1 b:1\n-1 | a:1 b:-0.2\n" * 20)
    (folder / "heavy.vw").write_text("1 1000 | a:1 b:1\n-1 | a:1 b:-0.2\n" * 20)
    for name, weighted in (("plain", False), ("heavy", True)):
        run("train", f"{name}.vw", "--model", f"{name}.wm", "--no-holdout", *stream)
        assert bool(load(f"{name}.wm").history_.no_bound) == weighted
    for words in ([], ["--predictions"]):
        run("update", "plain.wm", "heavy.vw", "--model", "new.wm", "--force", *words)
        assert load("new.wm").history_.no_bound == "the examples were weighted"
