"""Where machine code is kept: never stale, never fatal, never in a folder that others can write."""

import io
import json
import os
import pathlib
import platform
import re
import shutil
import stat
import subprocess
import sys

import llvmlite
import numba
import numpy as np
import pytest
from forked import Forked, run_forked

import widemargin
from widemargin.cli.warmup import forget_old_versions
from widemargin.loops import cache_folders, compiling, jit, numba_pipelines
from widemargin.loops.linear.scores import binary_scores
from widemargin.loops.processor import RELEASED, Processor
from widemargin.loops.storage import Dense

linux_only = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="numba loads all code"
)
compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

PROGRAM = """
import warnings
warnings.simplefilter("always")
import numpy as np
needs_numba = None
from widemargin.loops.storage import Dense
from widemargin.loops.linear.scores import binary_scores
out = np.empty(1)
rows, w = Dense(np.full((1, 2), 3.0), 1.0), np.array([1.0, 2.0, 0.5])
binary_scores(rows, np.zeros(1, np.uint64), w, out)
hits = getattr(binary_scores, "loaded", 0)
if getattr(binary_scores, "dispatcher_or_none", None):
    hits += sum(binary_scores.stats.cache_hits.values())
print(out[0], hits)
if needs_numba is not None:
    import sys
    assert ("numba" in sys.modules) == needs_numba
"""


def run(folder, program=PROGRAM, **environment):
    """The score found, how often the kept code was used, and the warnings."""
    done = run_forked(
        "-c", program, env={**os.environ, "WIDEMARGIN_CACHE": str(folder), **environment}
    )
    assert done.returncode == 0, done.stderr
    score, hits = done.stdout.split()
    told = [line for line in done.stderr.splitlines() if "CacheWarning" in line]
    return float(score), int(hits), told


@pytest.fixture(autouse=True, scope="module")
def _this_processor():
    """Tests name the processors that they need, whatever the suite is run for."""
    with pytest.MonkeyPatch.context() as changed:
        for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
            changed.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with the code of one process."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    assert run(folder) == (9.5, 0, [])
    return folder


def digest_folders(cache):
    """The folders of machine code in a cache."""
    return [folder for folder in cache.iterdir() if folder.name != "known"]


@pytest.fixture
def warm(filled, tmp_path):
    """A copy of it that a test may spoil."""
    return shutil.copytree(filled, tmp_path / "cache")


def test_the_second_run_finds_the_code_of_the_first(warm):
    assert run(warm) == (9.5, 1, [])


DIRECT = PROGRAM.replace("needs_numba = None", "needs_numba = False")
THROUGH_NUMBA = PROGRAM.replace("needs_numba = None", "needs_numba = True")


@compiled_only
@linux_only
def test_the_second_run_does_without_numba(warm):
    assert run(warm, DIRECT) == (9.5, 1, [])


@compiled_only
@linux_only
@pytest.mark.parametrize("spoil", ["cut", "empty", "other", "gone"])
def test_without_a_good_image_numba_finds_its_own_files_and_makes_it_anew(warm, spoil):
    (image,) = warm.rglob("*binary_scores*.image")
    content = image.read_bytes()
    if spoil == "gone":
        image.unlink()
    elif spoil == "other":
        image.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        image.write_bytes(content[: 100 if spoil == "cut" else 0])
    assert run(warm, THROUGH_NUMBA) == (9.5, 1, [])
    assert image.read_bytes() == content
    assert run(warm, DIRECT) == (9.5, 1, [])


@compiled_only
@linux_only
@pytest.mark.parametrize("damage", [b"", b"\xff\xfe\n", b"\0\n\0", b"a\nb\nc"])
def test_a_damaged_record_of_the_folders_is_written_anew(warm, damage):
    (record,) = (warm / "known").iterdir()
    content = record.read_bytes()
    record.write_bytes(damage)
    assert run(warm, THROUGH_NUMBA) == (9.5, 1, [])
    assert record.read_bytes() == content
    assert run(warm, DIRECT) == (9.5, 1, [])


@compiled_only
@linux_only
def test_every_loop_that_numba_keeps_has_an_image(warm):
    """If numba changes, this fails, and every start waits for its import."""
    kept = [file for file in warm.rglob("*.nbc") if file.parent.name.startswith("loops")]
    assert kept
    assert len(kept) == len(list(warm.rglob("*.image")))


@compiled_only
@linux_only
@pytest.mark.parametrize("folder", ["known", "digest"])
def test_images_in_a_folder_that_others_can_write_are_not_used(warm, folder):
    spoiled = warm / "known" if folder == "known" else digest_folders(warm)[0]
    spoiled.chmod(0o777)
    score, _, told = run(warm, THROUGH_NUMBA)
    assert (score, len(told)) == (9.5, folder == "digest")


def test_only_the_compiler_imports_numba():
    """Every other module of the loops can be imported without it."""
    folder = pathlib.Path(widemargin.__file__).parent / "loops"
    names = []
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        with_numba = parts[0] in ("compiling", "numba_pipelines", "numba_shortcuts")
        if not with_numba and "by_hand" not in parts:
            names.append(".".join(("widemargin", "loops", *parts)).removesuffix(".__init__"))
    program = "".join(f"import {name}\n" for name in names)
    program += "import sys\nassert not {'numba', 'llvmlite'} & set(sys.modules)\n"
    subprocess.run([sys.executable, "-c", program], check=True)


@compiled_only
@linux_only
def test_settings_of_numba_are_asked_for_anew(warm):
    assert run(warm, THROUGH_NUMBA, NUMBA_CPU_NAME="haswell") == (9.5, 0, [])
    assert run(warm, DIRECT) == (9.5, 1, [])


def test_the_folder_is_private(warm):
    for folder in warm.iterdir():
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_others_can_write_is_not_used(warm):
    (folder,) = digest_folders(warm)
    folder.chmod(0o777)
    _, found, told = run(warm)
    assert found == 0
    assert len(told) == 1
    assert "others can write" in told[0]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_cut_file_costs_a_compile_and_one_line(warm, ending):
    for file in [*warm.rglob(f"*.{ending}"), *warm.rglob("*.image")]:
        file.write_bytes(file.read_bytes()[:20])
    value, found, told = run(warm)
    assert (value, found) == (9.5, 0)
    assert len(told) == 1
    assert run(warm) == (9.5, 1, [])


def test_no_folder_at_all_costs_a_compile_and_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    _, found, told = run(tmp_path / "file" / "cache")
    assert found == 0
    assert len(told) == 1
    assert "compiles them again" in told[0]


@compiled_only
def test_a_full_disk_costs_compiles_and_one_line(tmp_path):
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    another = "binary_scores(Dense(rows.values.astype('f'), np.float32(1)), np.zeros(1, np.uint64)"
    _, found, told = run(tmp_path, f"{full}{PROGRAM}\n{another}, w.astype('f'), out)")
    assert found == 0
    assert len(told) == 1
    assert "File too large): each run compiles them again" in told[0]


def test_a_change_in_a_function_that_is_called_from_elsewhere_is_noticed(warm, tmp_path):
    """Numba alone would run the stale code: the loop's own file is the same."""
    package = pathlib.Path(widemargin.__file__).parent
    shutil.copytree(package, tmp_path / "widemargin", ignore=shutil.ignore_patterns("__pycache__"))
    storage = tmp_path / "widemargin" / "loops" / "storage.py"
    changed = storage.read_text().replace(
        "return s + rows.bias * w[len(w) - 1]", "return s + 100.0 * rows.bias * w[len(w) - 1]"
    )
    copy = {"PYTHONPATH": str(tmp_path)}
    assert run(warm, **copy)[0] == 9.5
    storage.write_text(changed)
    assert run(warm, **copy)[0] == 59.0


def test_plain_loops_are_kept_apart(warm):
    these, others = "01" if not jit.PLAIN else "10"
    assert run(warm, WIDEMARGIN_PLAIN_LOOPS=others) == (9.5, 0, [])
    assert run(warm, WIDEMARGIN_PLAIN_LOOPS=these) == (9.5, 1, [])
    assert len(digest_folders(warm)) == 2


def test_versions_of_python_have_their_own_code(monkeypatch):
    here = Processor("x86-64", "+sse2")
    first = compiling._digest(here)
    monkeypatch.setattr(compiling, "_PYTHON", "cpython-314t")
    assert compiling._digest(here) != first


def test_code_for_other_types_is_not_believed(warm):
    """What two processes that save at once could leave behind."""
    other = PROGRAM.replace("3.0)", "3.0, np.float32)").replace("0.5])", "0.5], np.float32)")
    assert run(warm, other) == (9.5, 0, [])
    first, second = sorted(warm.rglob("*binary_scores*.nbc"))
    second.write_bytes(first.read_bytes())
    for image in warm.rglob("*.image"):
        image.unlink()
    score, hits, told = run(warm, other)
    assert (score, hits) == (9.5, 0)
    assert "for other types" in told[0]


def test_processes_that_save_at_once_do_not_mix_up_their_code(tmp_path):
    single = PROGRAM.replace("3.0)", "3.0, np.float32)").replace("0.5])", "0.5], np.float32)")
    started = [
        Forked(
            *("-c", program),
            env={**os.environ, "WIDEMARGIN_CACHE": str(tmp_path)},
            stdout=subprocess.PIPE,
        )
        for program in (PROGRAM, single, PROGRAM, single)
    ]
    assert all(process.wait() == 0 for process in started)
    assert run(tmp_path) == (9.5, 1, [])
    assert run(tmp_path, single) == (9.5, 1, [])


# What a release brings along


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A copy of the package with the machine code of one loop for the plain baseline, and it."""
    root = tmp_path_factory.mktemp("released")
    package = pathlib.Path(widemargin.__file__).parent
    shutil.copytree(package, root / "widemargin", ignore=shutil.ignore_patterns("__pycache__"))
    baseline = RELEASED[-1]
    cpu = {"NUMBA_CPU_NAME": baseline.name, "NUMBA_CPU_FEATURES": baseline.features}
    assert run(root / "kept", PYTHONPATH=str(root), **cpu) == (9.5, 0, [])
    (folder,) = digest_folders(root / "kept")
    shutil.copytree(folder, root / "widemargin" / "loops" / "compiled" / folder.name)
    (root / "widemargin" / "loops" / "compiled" / "made_with.txt").write_text("numba 0.1\n")
    versions = {one.__name__: one.__version__ for one in (numba, llvmlite, np)}
    fits = cache_folders.describe_fits({folder.name: baseline.features}, versions)
    (root / "widemargin" / "loops" / "compiled" / cache_folders.FITS).write_text(fits)
    return root


def run_released(root, folder, **environment):
    return run(folder, PYTHONPATH=str(root), **environment)


@compiled_only
@pytest.mark.parametrize("cpu", [None, "haswell"])
def test_the_machine_code_of_a_release_is_used_on_any_processor_that_can(released, tmp_path, cpu):
    environment = {} if cpu is None else {"NUMBA_CPU_NAME": cpu}
    assert run_released(released, tmp_path / "empty", **environment) == (9.5, 1, [])
    assert not list((tmp_path / "empty").rglob("*.nbc"))


@compiled_only
@linux_only
def test_the_machine_code_of_a_release_is_called_without_numba(released, tmp_path):
    assert run(
        tmp_path / "empty", DIRECT, PYTHONPATH=str(released), WIDEMARGIN_PLAIN_LOOPS="0"
    ) == (9.5, 1, [])
    assert not (tmp_path / "empty").exists()


@compiled_only
@linux_only
@pytest.mark.parametrize(
    ("fact", "wrong"),
    [
        ("sources", "0" * 64),
        ("python", [3, 1]),
        ("versions", {"numba": "0.1", "llvmlite": llvmlite.__version__, "numpy": "1"}),
        ("versions", {"numba": "0.1", "llvmlite": "0.1", "numpy": np.__version__}),
        ("folders", {"0" * 24: "+sse2"}),
    ],
)
def test_what_does_not_fit_is_left_to_numba(monkeypatch, tmp_path, fact, wrong):
    monkeypatch.setattr(cache_folders, "RELEASE", tmp_path)
    versions = {one.__name__: one.__version__ for one in (numba, llvmlite, np)}
    folders = {"unfit": "+sse2,+no_such_feature", "fit": RELEASED[-1].features}
    content = cache_folders.describe_fits(folders, versions)
    for name in folders:
        (tmp_path / name).mkdir()
    (tmp_path / cache_folders.FITS).write_text(content)
    assert cache_folders._find_released(False) == str(tmp_path / "fit")
    assert cache_folders._find_released(True) == ""
    (tmp_path / cache_folders.FITS).write_text(json.dumps({**json.loads(content), fact: wrong}))
    assert cache_folders._find_released(False) == ""


@compiled_only
def test_a_processor_that_lacks_a_feature_compiles(released, tmp_path):
    cpu = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+cmov,+cx8,+fxsr,+mmx,+sse"}
    assert run_released(released, tmp_path, **cpu) == (9.5, 0, [])
    assert run_released(released, tmp_path, **cpu) == (9.5, 1, [])


@compiled_only
def test_a_release_needs_no_folder_of_the_user(released, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert run_released(released, tmp_path / "file" / "cache") == (9.5, 1, [])
    other = PROGRAM.replace("3.0)", "3.0, np.float32)").replace("0.5])", "0.5], np.float32)")
    score, found, told = run(tmp_path / "file" / "cache", other, PYTHONPATH=str(released))
    assert (score, found, len(told)) == (9.5, 0, 1)
    assert "compiles them again" in told[0]


@compiled_only
def test_damaged_code_of_a_release_costs_a_compile_and_one_line(released, tmp_path):
    copy = shutil.copytree(released, tmp_path / "copy")
    compiled = copy / "widemargin" / "loops" / "compiled"
    for file in [*compiled.rglob("*.nbc"), *compiled.rglob("*.image")]:
        file.write_bytes(file.read_bytes()[:20])
    score, found, told = run_released(copy, tmp_path / "cache")
    assert (score, found, len(told)) == (9.5, 0, 1)
    score, found, told = run_released(copy, tmp_path / "cache")
    assert (score, found) == (9.5, 1)
    assert len(told) <= 1  # none where the code of the user's folder is called directly


@compiled_only
def test_a_release_that_does_not_fit_says_what_it_was_made_with(tmp_path, monkeypatch, capsys):
    (tmp_path / "made_with.txt").write_text("numba 0.1\n")
    monkeypatch.setattr(compiling, "_RELEASE", tmp_path)
    monkeypatch.setattr(compiling, "_told", False)
    monkeypatch.setattr(jit, "_quiet", False)  # another test may have run `warmup`
    jit.announce_compiling(always=True)
    assert capsys.readouterr().err.startswith("the machine code of this release is for numba 0.1; ")


def test_a_processor_runs_what_needs_no_more_than_it_has():
    best, baseline = RELEASED
    assert best.runs(baseline)
    assert not baseline.runs(best)
    assert best.has("avx2", "fma")
    assert not Processor("x", "+avx,-avx2").has("avx2")


def keep_in(folder, monkeypatch):
    """Keep code in another folder, where that of an earlier run of the tests is not found."""
    monkeypatch.setattr(compiling, "_CACHE", folder)
    monkeypatch.setattr(compiling, "_FOLDER", folder)
    monkeypatch.setattr(jit, "_FOLDERS", None)


@compiled_only
@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_told_once_on_a_terminal(terminal, tmp_path, monkeypatch):
    said = io.StringIO()
    said.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(compiling, "_told", False)
    monkeypatch.setattr(jit, "_quiet", False)  # another test may have run `warmup`
    keep_in(tmp_path, monkeypatch)

    @jit.jit()
    def double(x):
        return 2 * x

    assert (double(2), double(1.5)) == (4, 3.0)
    line = "compiling the loops of this first use: a few seconds, once\n"
    assert said.getvalue() == line * terminal


def test_a_quiet_command_says_nothing_of_compiling(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "_told", False)
    monkeypatch.setattr(jit, "_quiet", False)  # another test may have run `warmup`
    monkeypatch.setattr(jit, "_quiet", False)
    jit.compile_quietly()
    jit.announce_compiling(always=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(jit, "_quiet", False)
    monkeypatch.setattr(compiling, "_CACHE", None)
    for _ in range(2):
        jit.announce_compiling(always=True)
    assert capsys.readouterr().err.count("compiling the loops") == 1


@jit.jit(inner=True)
def shifted(x, by):
    return x + by


@jit.jit()
def shifted_twice(x):
    return shifted(shifted(x, 1), 2)


@compiled_only
def test_an_inner_function_is_compiled_with_its_callers_only():
    assert numba_pipelines.INNER, "numba has changed: see loops/numba_pipelines.py"
    assert shifted_twice(10) == 13
    # Not one for each constant, and none if an earlier run of the tests has kept the caller.
    assert len(shifted.overloads) <= 1
    assert shifted.py_func(1, 2) == 3
    with pytest.raises(TypeError, match=r"only as part of other loops; call shifted\.py_func"):
        shifted(1, 2)


@compiled_only
def test_inner_functions_do_without_python_objects():
    """Numba keeps these at a global of LLVM for each function: only the loop reads its own."""
    rows, which = Dense(np.ones((1, 2)), 1.0), np.zeros(1, np.uint64)
    kinds = tuple(map(numba.typeof, (rows, which, np.ones(3), np.ones(1))))
    loop = numba.njit(**jit.OPTIONS)(binary_scores.py_func)
    loop.compile(kinds)
    source = loop.inspect_llvm(kinds)
    read = re.findall("= load ptr, ptr @(_ZN08NumbaEnv\\w+)", source)
    assert len(read) == 1
    assert "13binary_scores" in read[0]


def test_forgetting_old_versions_takes_nothing_else(tmp_path):
    current, old, alike = (tmp_path / (digit * 24) for digit in "abc")
    for folder in (current, old, alike, tmp_path / "documents"):
        (folder / "loops").mkdir(parents=True)
        (folder / "loops" / "x.nbi").touch()
    (old / "loops" / "lock").touch()
    (old / "locks").mkdir()
    (old / "locks" / "widemargin.loops.x.5aa2").touch()
    (alike / "letter.txt").touch()
    (tmp_path / "file").touch()
    (old / "loops" / "x.image").touch()
    (tmp_path / "known").mkdir()
    (tmp_path / "known" / "this").write_text(f"\n{current.name}")
    (tmp_path / "known" / "that").write_text(f"\n{old.name}")
    (tmp_path / "known" / "damaged").write_bytes(b"\xff\xfe")
    forget_old_versions(current)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {current.name, alike.name, "documents", "file", "known"}
    assert [path.name for path in (tmp_path / "known").iterdir()] == ["this"]


def test_without_the_compiler_nothing_is_kept(tmp_path):
    run(tmp_path / "cache", NUMBA_DISABLE_JIT="1")
    assert not (tmp_path / "cache").exists()
