"""The real program, run as a person runs it."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from forked import run_forked
from shell import run_shell

import widemargin

PROGRAM = [sys.executable, "-m", "widemargin"]


def run(*words, cwd, code=0):
    """What a process of its own ends with, which is forked: starting Python takes longer."""
    done = run_forked("-m", "widemargin", *words, cwd=cwd)
    assert done.returncode == code, done.stderr
    return done


def run_real(*words, cwd, code=0, **environment):
    """What a process of its own ends with, started as by a person."""
    done = subprocess.run(
        [*PROGRAM, *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    return done


def test_train_tells_epochs_mistakes_accuracy_and_where_the_model_is(tmp_path):
    told = run_real("train", cwd=tmp_path).stdout
    epochs = re.findall(r"^ +(\d+) +(\d+) +\d+", told, re.M)
    assert [int(epoch) for epoch, _ in epochs] == list(range(1, 11))
    total = re.search(r"mistakes while learning: ([\d,]+) in 10 epochs", told)
    assert int(total[1].replace(",", "")) == sum(int(mistakes) for _, mistakes in epochs)
    assert float(re.search(r"held-out accuracy: ([\d.]+)", told)[1]) > 0.9
    assert f"model saved to {tmp_path}/digits.wm" in told


def test_the_model_from_the_shell_is_an_estimator_in_python(tmp_path):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    for learner, kind in [
        ("perceptron", widemargin.Perceptron),
        ("pa", widemargin.PassiveAggressive),
        ("logistic", widemargin.OnlineLogistic),
    ]:
        run_shell(tmp_path, "train", "--learner", learner, "--epochs", "5")
        loaded = widemargin.load(tmp_path / "digits.wm")
        assert isinstance(loaded, kind)
        assert loaded.score(X, y) > 0.9
        loaded.partial_fit(X[:100], y[:100])


def test_json_is_one_flat_object(tmp_path):
    figures = json.loads(run("train", "--json", "--keep", "vote", cwd=tmp_path).stdout)
    assert 0.9 < figures["accuracy"] < 1.0
    low, high = figures["accuracy_interval"]
    assert low < figures["accuracy"] < high
    assert figures["keep"] == "vote"
    assert os.path.samefile(figures["model"], tmp_path / "digits.wm")


def test_the_same_seed_gives_the_same_file(tmp_path):
    runs = []
    for _ in range(2):
        run("train", "--seed", "5", cwd=tmp_path)
        runs.append(widemargin.load_model(tmp_path / "digits.wm").weights)
    np.testing.assert_array_equal(*runs)


def test_quiet_prints_nothing(tmp_path):
    done = run("train", "--quiet", cwd=tmp_path)
    assert done.stdout == done.stderr == ""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["train", "--epochs", "0"], 2, "--epochs 0 must be a whole number"),
        (["train", "--eta", "-1"], 2, "--eta -1.0 must be a positive number"),
        (["train", "--batch", "many"], 2, "--batch many"),
        (["train", "--rule", "best"], 2, "--rule best is unknown"),
        (["train", "--l2", "0.1"], 2, "--l2 is not an option of the learner perceptron"),
        (["train", "--C", "3"], 2, "--C has no effect with --rule perceptron, only with --rule"),
        (["train", "--rule", "pa1", "--power", "0.5"], 2, "--power has no effect with --rule pa1"),
        (
            ["train", "--rule", "pa", "--class-weight", "1=2"],
            2,
            "--class-weight has no effect with --rule pa, only with another rule, or a weight of 0",
        ),
        (
            ["train", "--learner", "svm", "--C", "inf", "--class-weight", "1=2"],
            2,
            "--class-weight has no effect with --C inf, only with a finite C",
        ),
        (
            ["train", "--learner", "svm", "--C", "inf", "--loss", "hinge"],
            2,
            "--loss has no effect with --C inf",
        ),
        (
            ["train", "--patience", "5", "--no-holdout"],
            2,
            "--patience has no effect if nothing is held out",
        ),
        (["train", "--learner", "logistic", "--C", "1"], 2, "--C is not an option of the learner"),
        (["train", "--memory", "much"], 2, "--memory much must be a positive size"),
        (["train", "--learner", "pa", "--rule", "margin"], 2, "must be pa, pa1 or pa2"),
        (["train", "--keep", "none"], 2, "'none' is not one of"),
        (
            ["train", "--model", "/no/such/folder/x.wm"],
            1,
            "folder /no/such/folder does not exist",
        ),
        (["train", "--model", "/dev/null"], 1, "not a regular file"),
        (["fly"], 2, "No such command"),
    ],
)
def test_errors_are_one_line_with_an_exit_code(words, code, message, tmp_path):
    done = run_shell(tmp_path, *words, code=code)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["train", "--eta", "-1"], 2, "--eta -1.0 must be a positive number"),
        (
            ["train", "--model", "/no/such/folder/x.wm"],
            1,
            "folder /no/such/folder does not exist",
        ),
    ],
)
def test_a_real_process_ends_with_the_same_line_and_code(words, code, message, tmp_path):
    done = run_real(*words, cwd=tmp_path, code=code)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_a_cache_that_cannot_be_used_costs_one_line(quiet, tmp_path):
    cache = tmp_path / "file" / "cache"
    (tmp_path / "file").write_text("in the way")
    words = ["train", "--epochs", "1", *["--quiet"] * quiet]
    done = run_real(*words, cwd=tmp_path, WIDEMARGIN_CACHE=str(cache))
    told = [
        "compiling the loops of this first use: a few seconds, in each run",
        f"widemargin: compiled loops are not kept in {cache}/... (Not a directory): each run"
        " compiles them again",
    ]
    shown = re.sub(r"/[0-9a-f]{24} ", "/... ", done.stderr).splitlines()
    assert sorted(shown) == ([] if quiet else told)


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("WIDEMARGIN_CACHE", r"file/cache/\S+: compiled loops cannot be kept there \(Not a "),
        ("NUMBA_DISABLE_JIT", r"numba's compiler is switched off \(NUMBA_DISABLE_JIT\)"),
    ],
)
def test_a_warm_up_that_would_be_in_vain_is_refused(variable, told, tmp_path):
    (tmp_path / "file").write_text("in the way")
    value = "1" if variable == "NUMBA_DISABLE_JIT" else str(tmp_path / "file" / "cache")
    done = run_real("warmup", cwd=tmp_path, code=1, **{variable: value})
    assert re.fullmatch(f"widemargin: .*{told}.*\n", done.stderr)


def test_help_and_version(tmp_path):
    told = run_real("--help", cwd=tmp_path).stdout
    assert "train" in told
    assert "warmup" in told
    assert not re.search(r"\w\.\.\.$", told, re.M)  # click cuts sentences that do not fit
    for example in re.findall(r"^ +widemargin (train[^ ]*(?: --\S+(?: [\w.]+)?)*)  ", told, re.M):
        run(*example.split(), cwd=tmp_path)
    assert (
        run("--version", cwd=tmp_path).stdout.strip()
        == f"widemargin, version {widemargin.__version__}"
    )


def test_nothing_heavy_is_imported_before_it_is_needed(tmp_path):
    heavy = {"numpy", "numba", "pyarrow", "sklearn", "matplotlib", "scipy", "pandas", "rich"}
    program = "import sys, widemargin, widemargin.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not heavy & set(done.stdout.split())
    program = (
        "import sys; from widemargin.cli import main\n"
        "try:\n    main(['train', '--quiet'])\nexcept SystemExit as end:\n"
        "    assert end.code == 0, end.code\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout, done.stderr
    assert not {"sklearn", "matplotlib", "pandas", "pyarrow"} & set(done.stdout.split())


def wait_for(path):
    """Wait until there is a file."""
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"no {path} after a minute")


def test_ctrl_c_saves_what_was_learned_and_exits_130(tmp_path):
    checkpoint = ["--checkpoint", "points", "--checkpoint-every", "0.1"]  # shows that it learns
    process = subprocess.Popen(
        [*PROGRAM, "train", "--learner", "logistic", "--epochs", "100000000", *checkpoint],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path / "points" / "checkpoint.wm")
    for _ in range(5):  # a supervisor may signal the process and then its group
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    try:
        told, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "stopped: interrupted" in told
    assert widemargin.load_model(tmp_path / "digits.wm").history.stopped == "interrupted"


def test_ctrl_c_while_the_program_is_imported_is_one_line():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import signal, sys\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, *others):\n"
            "        if name == 'click':\n"
            "            signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
            "from widemargin.__main__ import main\n"
            "main()",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 130
    assert done.stderr == "widemargin: interrupted before anything was done\n"


def test_ctrl_c_while_a_string_is_executed_exits_130(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *others):\n"
        "        if name == 'widemargin.cli.train':\n"
        "            exec('import signal; signal.raise_signal(signal.SIGINT)')\n"
        "sys.meta_path.insert(0, Interrupting())\n"
    )
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [*PROGRAM, "train"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    told = "widemargin: interrupted before anything was learned; no model was saved\n"
    assert (done.returncode, done.stderr) == (130, told)


def test_ctrl_c_while_the_command_line_is_read_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("click.Group.parse_args", lambda *given: signal.raise_signal(signal.SIGINT))
    done = run_shell(tmp_path, "train", code=130)
    assert done.stderr == "widemargin: interrupted before anything was done\n"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("widemargin.cli.row_trainer.RowTrainer.read", " before anything was learned; no model"),
        ("widemargin.cli.train.report", "; the model was saved to digits.wm before"),
    ],
)
def test_ctrl_c_says_what_is_kept(tmp_path, monkeypatch, broken, told):
    monkeypatch.setattr(broken, lambda *given: signal.raise_signal(signal.SIGINT))
    done = run_shell(tmp_path, "train", "--epochs", "1", code=130)
    assert done.stderr.startswith(f"widemargin: interrupted{told}")
    assert (tmp_path / "digits.wm").exists() == ("saved to" in told)


def test_progress_is_shown_on_a_terminal_and_only_there(tmp_path):
    leader, follower = pty.openpty()
    words = ["train", "--learner", "logistic", "--epochs", "2000000", "--max-seconds", "1"]
    process = subprocess.Popen(
        [*PROGRAM, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=follower
    )
    os.close(follower)
    shown = ""
    # Read all the time: a terminal that nobody reads from stops the program.
    with contextlib.suppress(OSError):  # how the end of a terminal shows
        while piece := os.read(leader, 100_000):
            shown = (shown + piece.decode(errors="replace"))[:100_000]
    process.communicate(timeout=120)
    assert "epoch" in shown
    assert "mistakes" in shown
    piped = run(*words[:-1], "0.2", cwd=tmp_path)
    assert "epoch" not in piped.stderr
