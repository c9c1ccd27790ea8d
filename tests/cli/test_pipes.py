"""Lines that come slowly through a pipe are answered one by one, and fast ones in blocks."""

import json
import random
import select
import signal
import subprocess

import numpy as np
import pytest
from forked import Forked
from shell import run_shell

from widemargin.models.linear import load_model

#: For each format, two kinds of lines without labels as they come after the header, if any.
QUESTIONS = {
    "svmlight": ("", ["1 1:1 3:2\n", "-1 2:1 3:2\n"]),
    "vw": ("", ["|f red big\n", "|f blue big\n"]),
    "labelled-text": ("", ["a\tred thing\n", "b\tblue thing\n"]),
    "text": ("", ["red thing\n", "blue thing\n"]),
    "csv": ("size,colour\n", ["1.5,red\n", "2.5,blue\n"]),
    "jsonl": ("", ['{"size": 1.5, "colour": "red"}\n', '{"colour": "blue", "size": 2.5}\n']),
}


def training(format):
    """Examples whose label is that of the first or the second kind of line."""
    header, lines = QUESTIONS[format]
    if format == "csv":
        return "label," + header + "".join(f"{'ab'[i % 2]},{lines[i % 2]}" for i in range(200))
    if format == "jsonl":
        rows = [{**json.loads(lines[i % 2]), "label": "ab"[i % 2]} for i in range(200)]
        return "".join(json.dumps(row) + "\n" for row in rows)
    if format == "vw":
        return "".join(f"{1 - 2 * (i % 2)} {lines[i % 2]}" for i in range(200))
    if format == "text":
        return training("labelled-text")
    return "".join(lines[i % 2] for i in range(200))


def start(folder, command):
    """Start the program with pipes for its input and its output."""
    return Forked(
        *("-m", "widemargin", *command),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # an answer in a buffer of ours would look like none
    )


def ask(folder, lines_at_a_time, command=("predict", "m.wm", "-")):
    """Send some lines, wait for their answers, send the next ones; return all answers."""
    process = start(folder, command)
    answers = []
    try:
        for sent, expected in lines_at_a_time:
            process.stdin.write(sent.encode())
            for _ in range(expected):
                assert select.select([process.stdout], [], [], 60)[0], f"no answer to {sent!r}"
                answers.append(process.stdout.readline())
        process.stdin.close()
        answers += process.stdout.readlines()
        assert process.wait(60) == 0
    finally:
        process.kill()
    return b"".join(answers).decode()


@pytest.mark.parametrize("format", QUESTIONS)
def test_each_line_is_answered_before_the_next_is_sent(tmp_path, format):
    suffix = {"svmlight": "svm", "vw": "vw", "csv": "csv", "jsonl": "jsonl"}.get(format, "txt")
    (tmp_path / f"train.{suffix}").write_text(training(format))
    run_shell(tmp_path, "train", f"train.{suffix}", "--model", "m.wm", "--quiet")
    header, kinds = QUESTIONS[format]
    chosen = [kinds[random.Random(i).randrange(2)] for i in range(6)]
    (tmp_path / f"ask.{suffix}").write_text(header + "".join(chosen))
    expected = run_shell(tmp_path, "predict", "m.wm", f"ask.{suffix}").output
    slowly = [(header, 0)] * bool(header) + [(line, 1) for line in chosen]
    assert ask(tmp_path, slowly) == expected
    assert len(set(expected.split())) == 2


def test_halves_of_lines_wait_for_the_rest(tmp_path):
    (tmp_path / "train.svm").write_text(training("svmlight"))
    run_shell(tmp_path, "train", "train.svm", "--model", "m.wm", "--quiet")
    pieces = [("1 1:1 3:2\n-1 2:", 1), ("1 3:2\n", 1), ("1 1:1", 0)]
    assert ask(tmp_path, pieces) == "1\n-1\n1\n"


def test_an_object_that_lacks_a_key_waits_until_the_key_has_come(tmp_path):
    (tmp_path / "train.jsonl").write_text(training("jsonl"))
    run_shell(tmp_path, "train", "train.jsonl", "--model", "m.wm", "--quiet")
    lines = ['{"colour": "red"}\n', '{"colour": "blue", "size": 2.5}\n', '{"colour": "red"}\n']
    (tmp_path / "ask.jsonl").write_text("".join(lines))
    expected = run_shell(tmp_path, "predict", "m.wm", "ask.jsonl").output
    assert ask(tmp_path, [(lines[0], 0), (lines[1], 2), (lines[2], 1)]) == expected


# Answering and learning in turn

#: How each format is named, and its lines with labels after the header, if any.
LABELLED = {
    "svmlight": ("svm", "", ["1 1:1 3:2\n", "-1 2:1 3:2\n", "1 2:1 3:2\n"]),
    "vw": ("vw", "", ["1 |f red big\n", "-1 |f blue big\n", "1 |f blue big\n"]),
    "labelled-text": ("txt", "", ["a\tred thing\n", "b\tblue thing\n", "a\tblue new thing\n"]),
    "csv": ("csv", "label,size,colour\n", ["a,1.5,red\n", "b,2.5,blue\n", "a,2.5,blue\n"]),
    "jsonl": (
        "jsonl",
        "",
        [
            '{"label": "a", "size": 1.5, "colour": "red"}\n',
            '{"label": "b", "colour": "blue", "size": 2.5}\n',
            '{"label": "a", "colour": "blue", "size": 2.5}\n',
        ],
    ),
}
ONLINE = ("--learner", "perceptron", "--quiet")


def train_online(folder, format, *options):
    """Train a model that can go on learning; its name, and lines to go on with."""
    suffix, header, kinds = LABELLED[format]
    (folder / f"train.{suffix}").write_text(training(format))
    run_shell(folder, "train", f"train.{suffix}", "--model", "m.wm", *ONLINE, *options)
    chosen = [kinds[random.Random(i).randrange(3)] for i in range(8)]
    return suffix, header, chosen


def weights_of(path):
    state = load_model(path).state
    return state.W, state.U, state.clock


def assert_same_model(one, other):
    for mine, theirs in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert load_model(one).classes.tolist() == load_model(other).classes.tolist()


def learn_line_by_line(folder, suffix, header, lines):
    """The oracle: ask about each line, update with it, and go on; all answers."""
    answers = ""
    (folder / "slow.wm").write_bytes((folder / "m.wm").read_bytes())
    for line in lines:
        (folder / f"one.{suffix}").write_text(header + line)
        answers += run_shell(folder, "predict", "slow.wm", f"one.{suffix}").output
        run_shell(folder, "update", "slow.wm", f"one.{suffix}", "--quiet")
    return answers


@pytest.mark.parametrize("format", LABELLED)
def test_update_answers_each_line_before_it_learns_from_it(tmp_path, format):
    suffix, header, lines = train_online(tmp_path, format)
    expected = learn_line_by_line(tmp_path, suffix, header, lines)
    (tmp_path / "pipe.wm").write_bytes((tmp_path / "m.wm").read_bytes())
    slowly = [(header, 0)] * bool(header) + [(line, 1) for line in lines]
    command = ("update", "pipe.wm", "-", "--predictions", "--quiet")
    assert ask(tmp_path, slowly, command) == expected
    assert_same_model(tmp_path / "pipe.wm", tmp_path / "slow.wm")
    (tmp_path / f"all.{suffix}").write_text(header + "".join(lines))
    whole = run_shell(
        tmp_path, "update", "m.wm", f"all.{suffix}", "--predictions", "--quiet", "--model", "w.wm"
    )
    assert whole.output == expected
    assert_same_model(tmp_path / "w.wm", tmp_path / "slow.wm")


@pytest.mark.parametrize("options", [("--keep", "last"), ("--multiclass", "ovr"), ()])
def test_blocks_are_learned_from_as_lines_are(tmp_path, options):
    rng = random.Random(0)
    lines = [
        f"{rng.randrange(4)} {' '.join(f'{j}:{rng.randrange(1, 9)}' for j in range(1, 9))}\n"
        for _ in range(60)
    ]
    (tmp_path / "train.svm").write_text("".join(lines[:40]))
    run_shell(tmp_path, "train", "train.svm", "--model", "m.wm", *ONLINE, *options)
    expected = learn_line_by_line(tmp_path, "svm", "", lines[40:])
    (tmp_path / "more.svm").write_text("".join(lines[40:]))
    found = run_shell(tmp_path, "update", "m.wm", "more.svm", "--predictions", "--quiet")
    assert found.output == expected
    assert_same_model(tmp_path / "m.wm", tmp_path / "slow.wm")


def test_a_new_label_is_learned_and_lines_without_one_are_only_answered(tmp_path):
    train_online(tmp_path, "vw")
    lines = ["|f red big\n", "2 |f green\n", "|f green\n", "|f green\n", "2 |f green\n"]
    command = ("update", "m.wm", "-", "--predictions", "--quiet")
    before = load_model(tmp_path / "m.wm").state.seen
    answers = ask(tmp_path, [(line, 1) for line in lines], command).split()
    assert answers[0] == "1"
    assert answers[1] != "2"
    assert answers[2:] == ["2", "2", "2"]
    model = load_model(tmp_path / "m.wm")
    assert model.classes.tolist() == [-1, 1, 2]
    assert model.state.seen == before + 2


def test_what_was_learned_is_saved_before_a_bad_line_is_refused(tmp_path):
    suffix, header, lines = train_online(tmp_path, "svmlight")
    (tmp_path / "copy.wm").write_bytes((tmp_path / "m.wm").read_bytes())
    process = start(tmp_path, ("update", "copy.wm", "-", "--predictions"))
    for line in lines:
        process.stdin.write(line.encode())
        assert process.stdout.readline()
    process.stdin.write(b"1 1:one\n")
    process.stdin.close()
    told = process.stderr.read().decode()
    assert process.wait(60) == 1
    for part in ("<stdin>:9:5", "the 8 examples before", "copy.wm"):
        assert part in told
    learn_line_by_line(tmp_path, suffix, header, lines)
    assert_same_model(tmp_path / "copy.wm", tmp_path / "slow.wm")


@pytest.mark.parametrize("end", ["ctrl-c", "nobody reads"])
def test_what_was_learned_is_saved_when_it_is_ended(tmp_path, end):
    suffix, header, lines = train_online(tmp_path, "vw")
    (tmp_path / "copy.wm").write_bytes((tmp_path / "m.wm").read_bytes())
    process = start(tmp_path, ("update", "copy.wm", "-", "--predictions"))
    for line in lines[:-1]:
        process.stdin.write(line.encode())
        assert process.stdout.readline()
    if end == "ctrl-c":
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        lines = lines[:-1]
    else:
        process.stdout.close()
        process.stdin.write(lines[-1].encode())
        process.stdin.close()
        assert process.wait(60) == 1
    learn_line_by_line(tmp_path, suffix, header, lines)
    assert_same_model(tmp_path / "copy.wm", tmp_path / "slow.wm")


@pytest.mark.parametrize(
    ("trained", "asked", "told"),
    [
        ((), ("--epochs", "2"), "leave out --epochs"),
        (("--keep", "vote"), (), "votes with all its hypotheses"),
        (("--batch", "5"), (), "several examples at once"),
    ],
)
def test_what_cannot_answer_and_learn_in_turn_is_refused(tmp_path, trained, asked, told):
    _, _, lines = train_online(tmp_path, "svmlight", *trained)
    (tmp_path / "more.svm").write_text("".join(lines))
    refused = run_shell(tmp_path, "update", "m.wm", "more.svm", "--predictions", *asked, code=1)
    assert told in refused.stderr


def test_update_says_how_many_of_its_answers_were_right(tmp_path):
    train_online(tmp_path, "svmlight")
    lines = training("svmlight").splitlines(keepends=True)[:40]
    flipped = [line.replace("1 ", "-1 ", 1) if line.startswith("1") else line for line in lines]
    (tmp_path / "new.svm").write_text("".join(flipped))
    ran = run_shell(tmp_path, "update", "m.wm", "new.svm", "--predictions", "--json")
    answers = ran.stdout.split()
    right = sum(a == line.split()[0] for a, line in zip(answers, flipped, strict=True))
    assert json.loads(ran.stderr)["accuracy"] == right / len(flipped)


def test_update_names_new_classes_after_its_answers(tmp_path):
    train_online(tmp_path, "svmlight")
    (tmp_path / "new.svm").write_text("1 1:1\n7 2:1\n8 1:1\n")
    command = ("update", "m.wm", "new.svm", "--predictions", "--model", "w.wm")
    assert "\n2 new classes: 7, 8\n" in run_shell(tmp_path, *command).stderr
    told = run_shell(tmp_path, *command, "--json", "--force").stderr
    assert json.loads(told)["new_classes"] == 2
