"""The main path works on a system that has nothing of POSIX except files."""

from interpreted import run_python

#: Removes what other systems lack, and then does what users do.
POOR = """
import builtins, ctypes, os, pathlib, sys, tempfile

import numba, numpy as np, pyarrow.csv, pyarrow.json, scipy.sparse, sklearn.base  # as they are here
import click.testing, safetensors.numpy
from widemargin.threads import _controller

_controller()  # threadpoolctl looks for libraries in a way of its own on every system

for name in ("fork", "forkpty", "sched_getaffinity", "getuid", "geteuid", "mkfifo", "fchmod",
             "posix_fadvise", "pread", "sendfile", "memfd_create", "register_at_fork", "wait4"):
    if hasattr(os, name):
        delattr(os, name)
real_import, real_open, real_library = builtins.__import__, builtins.open, ctypes.CDLL

def poor_import(name, *rest, **more):
    if name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "posix", "uvloop"):
        raise ImportError(name)
    return real_import(name, *rest, **more)

def poor_open(file, *rest, **more):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(2, "there is no /proc", file)
    return real_open(file, *rest, **more)

def poor_library(name, *rest, **more):
    if name is None:
        raise TypeError("a name is needed, as on Windows")
    return real_library(name, *rest, **more)

def poor_folder(path, flags, *rest, _open=os.open, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "folders cannot be opened", path)
    return _open(path, flags, *rest, **more)

builtins.__import__, builtins.open, ctypes.CDLL = poor_import, poor_open, poor_library
os.open, sys.platform = poor_folder, "elsewhere"

import widemargin
from click.testing import CliRunner
from widemargin.cli.main import main
from widemargin.comparison.usage import _give_back, _status

folder = pathlib.Path(tempfile.mkdtemp())
os.chdir(folder)

def run(*words):
    ran = CliRunner().invoke(main, words, prog_name="widemargin")
    assert ran.exit_code == 0, (words, ran.output, ran.exception)
    return ran.output

(folder / "a.svm").write_text("1 1:1 2:.5\\n2 2:1\\n" * 20)
(folder / "b.csv").write_text("x,y,label\\n" + "1,a,p\\n2,b,q\\n" * 10)
run("train", "a.svm", "--model", "m.wm", "--quiet", "--cache")
run("train", "a.svm", "--model", "m.wm", "--quiet", "--cache", "--force")
run("train", "a.svm", "--model", "s.wm", "--quiet", "--stream", "--memory", "1MB")
run("update", "m.wm", "a.svm", "--quiet")
assert run("predict", "m.wm", "a.svm").split()[:2] == ["1", "2"]
run("train", "b.csv", "--model", "t.wm", "--quiet")
run("convert", "a.svm", "a2.wmc")
run("inspect", "m.wm")
X, y = np.eye(4), np.array([0, 1, 0, 1])
for learner in (widemargin.Perceptron(n_jobs=-1), widemargin.LinearSVM(), widemargin.KernelSVM()):
    learner.fit(X, y).save("p.wm")
    assert widemargin.load("p.wm").predict(X).tolist() == y.tolist()
widemargin.Perceptron(random_state=0).fit(X, y, checkpoint="points")
assert [len(y) for _, y in widemargin.stream("a.svm", n_jobs=2)] == [40]
_give_back()
assert _status("VmRSS") is None
print("all is well")
"""


def test_the_main_path_needs_nothing_of_posix():
    assert run_python("-c", POOR, interpreted=False).splitlines()[-1] == "all is well"
