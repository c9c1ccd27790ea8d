"""`widemargin train --dask`: the program on a cluster, and what it refuses."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest
from partitioned import some_rows, write_rows
from shell import run

import widemargin

needs_dask = pytest.mark.skipif(not find_spec("distributed"), reason="Dask: the extra dask")


@pytest.fixture
def rows(tmp_path):
    return write_rows(tmp_path / "rows.svm", *some_rows(300, 12, 3))


@needs_dask
def test_trains_measures_and_resumes(rows, tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        words = ["train", rows, "--dask", cluster.scheduler_address, "--partitions", 4, "--json"]
        first, second = tmp_path / "a.wm", tmp_path / "b.wm"
        told = json.loads(run(*words, "--model", first).stdout)
        resumed = ["--checkpoint", tmp_path / "points", "--resume"]
        run(*words, "--model", second, *resumed)
        svm = ["--learner", "svm", "--C", 0.01, "--model", tmp_path / "svm.wm"]
        solved = json.loads(run(*words, *svm).stdout)
        bad = tmp_path / "bad.svm"
        bad.write_text("1 1:1\n0 1:x\n")
        failed = run("train", bad, *words[2:4], "--model", tmp_path / "c.wm", code=1)
    assert f"{bad}:2:5: expected a number" in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert (told["partitions"], told["mix"], told["rows"]) == (4, "touched", 300)
    assert 0 < told["held_out_rows"] < 100
    assert told["accuracy"] > 0.5
    one, other = widemargin.load(first), widemargin.load(second)
    assert np.array_equal(one.coef_, other.coef_)
    assert one.model_.mixture == ("touched", 4)
    assert (solved["partitions"], solved["held_out_rows"]) == (4, told["held_out_rows"])
    assert solved["gap"] <= 1e-3
    assert widemargin.load(tmp_path / "svm.wm").certificate_.gap == solved["gap"]


@needs_dask
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--dask", "local", "--memory", "1GB"], "--memory has no effect with --dask"),
        (["--mix", "uniform"], "--mix has no effect without --dask"),
        (["--dask", "local", "--learner", "svm", "--bias", "free"], "does not distribute"),
        (["--dask", "local", "--learner", "svm", "--mix", "uniform"], "--mix is not an option"),
        (["--dask", "local", "--learner", "kernel-svm"], "on a cluster, use one of perceptron, pa"),
        (["--dask", "local", "--keep", "vote"], "--keep vote logs every correction"),
        (["--dask", "local", "--class-weight", "0=2"], "must be 'balanced'"),
    ],
)
def test_refuses_what_has_no_effect(rows, words, told):
    assert told in run("train", rows, *words, code=2).stderr


@needs_dask
@pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes")
def test_ctrl_c_saves_what_was_learned_and_ends_all_workers(rows, tmp_path):
    """A terminal sends Ctrl-C to all processes, workers included."""
    points = tmp_path / "points"
    words = ["train", rows, "--dask", "local", "--partitions", "3", "--epochs", "1000000"]
    words += [
        "--patience",
        "1000000",
        "--checkpoint",
        str(points),
        "--model",
        str(tmp_path / "a.wm"),
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "widemargin", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 100
        while not list(pathlib.Path(points).glob("*")) and time.monotonic() < deadline:
            time.sleep(0.2)
        os.killpg(started.pid, signal.SIGINT)
        told, errors = started.communicate(timeout=60)
    finally:
        started.kill()
    assert "stopped: interrupted" in told
    assert errors == ""
    assert widemargin.load(tmp_path / "a.wm").model_.mixture == ("touched", 3)
    deadline = time.monotonic() + 20
    while running_in_group(started.pid):  # helpers of the interpreter take a moment to end
        assert time.monotonic() < deadline, "processes are left running"
        time.sleep(0.1)


def running_in_group(group):
    """The processes of a group, without those whose end nobody has taken note of yet."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, own, *_ = path.read_text().rpartition(")")[2].split()
            found += [path] if int(own) == group and state != "Z" else []
    return found


@needs_dask
def test_a_bad_line_is_one_line_on_a_local_cluster(tmp_path):
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\n0 1:x\n")
    words = ["train", str(bad), "--dask", "local", "--model", str(tmp_path / "a.wm")]
    found = subprocess.run(
        [sys.executable, "-m", "widemargin", *words], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert f"{bad}:2:5: expected a number" in found.stderr
    assert found.stderr.count("\n") == 1
