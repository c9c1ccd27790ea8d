"""Lines that come slowly through a pipe are answered one by one, and fast ones in blocks."""

import json
import random
import select
import subprocess
import sys

import pytest
from shell import run_shell

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


def ask(folder, lines_at_a_time):
    """Send some lines, wait for their answers, send the next ones; return all answers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "widemargin", "predict", "m.wm", "-"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,  # an answer in a buffer of ours would look like none
    )
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
