"""`python -m fuzz TARGET --seconds N --seed S` fuzzes one target; `--all` all of them in all modes.

Every run is a separate process (fuzz/child.py). Interesting inputs are saved in a corpus, from
which later runs start, and every run adds a line to a log, so that runs add up:
`python -m fuzz --summary LOG` prints the table of docs/reliability.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from typing import Any

from fuzz.targets import MODES, TARGETS

HERE = pathlib.Path(__file__).parent.parent
#: Environment variables of a mode. Code with bounds checks must not be mixed with other code, so it
#: has its own folder.
_VARIABLES = {
    "interpreted": {"NUMBA_DISABLE_JIT": "1"},
    "lines": {"NUMBA_DISABLE_JIT": "1"},
    "bounds": {"NUMBA_BOUNDSCHECK": "1", "WIDEMARGIN_PLAIN_LOOPS": "1"},
    "guarded": {},
    "compiled": {},
}
#: The longest input: rare cases do not need long files.
_LONGEST = 2000


def prepare(work: pathlib.Path) -> None:
    """Train the models that targets forge and run, once."""
    if not (work / "models").exists():
        program = "import pathlib, sys; from fuzz.forged import save_models as save;"
        program += " save(pathlib.Path(sys.argv[1]))"
        subprocess.run(
            [sys.executable, "-c", program, str(work / "models")],
            env=environment("compiled", work),
            check=True,
        )


def environment(mode: str, work: pathlib.Path) -> dict[str, str]:
    """The environment variables of a process in this mode."""
    paths = [str(HERE), str(HERE / "src"), os.environ.get("PYTHONPATH", "")]
    found = {**os.environ, **_VARIABLES[mode], "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    found["FUZZ_MODELS"] = str(work / "models")
    if mode == "bounds":
        found["WIDEMARGIN_CACHE"] = str(work / "bounds")
    return found


def run(name: str, mode: str, seconds: float, seed: int, work: pathlib.Path) -> dict[str, Any]:
    """Fuzz a target for this many seconds; return a record of the run."""
    target, corpus = TARGETS[name], work / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    findings = work / "findings"
    findings.mkdir(exist_ok=True)
    for number, data in enumerate(target.seeds):
        (corpus / f"seed{number}").write_bytes(data)
    options = [
        str(corpus),
        f"-max_total_time={max(1, round(seconds))}",
        f"-seed={seed % (1 << 31) or 1}",
        f"-artifact_prefix={findings}/{name}-{mode}-",
        f"-max_len={_LONGEST}",
        "-rss_limit_mb=4096",
        "-timeout=600",  # wall clock: other work on the machine may stall it for minutes
        "-print_final_stats=1",
        "-verbosity=1",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.child", name, mode, str(seed), *options],
        env=environment(mode, work),
        capture_output=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = (done.stdout + done.stderr).decode("utf-8", "replace")
    executions = re.findall(r"number_of_executed_units: (\d+)", told) or re.findall(r"#(\d+)", told)
    edges = re.findall(r"cov: (\d+)", told)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        digest = hashlib.sha256(told.encode()).hexdigest()[:8]
        (findings / f"{name}-{mode}-{seed}-{digest}.txt").write_text(told)
    return {
        "target": name,
        "mode": mode,
        "seed": seed,
        "cpu": round(cpu, 1),
        "executions": int(executions[-1]) if executions else 0,
        "edges": int(edges[-1]) if edges else 0,
        "failed": done.returncode,
    }


def lines_reached(name: str, work: pathlib.Path) -> dict[str, Any]:
    """Replay the corpus of a target and count the lines it reaches."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.child", name, "lines", "0", str(work / "corpus" / name)],
        env=environment("lines", work),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"target": name, "mode": "lines", "failed": done.returncode, "told": done.stderr}
    return {"target": name, "mode": "lines", **json.loads(done.stdout.splitlines()[-1])}


def summarize(logs: list[str]) -> None:
    """Print a summary of all runs in some logs, by target."""
    sums: dict[str, Any] = defaultdict(lambda: defaultdict(float))
    for log in logs:
        for line in pathlib.Path(log).read_text().splitlines():
            entry = json.loads(line)
            row = sums[entry["target"]]
            if entry["mode"] == "lines":
                if "reached" in entry:
                    row["reached"] = max(row["reached"], entry["reached"])
                    row["lines"] = entry["lines"]
                continue
            row[entry["mode"]] += entry["executions"]
            row["cpu"] += entry["cpu"]
            row["failed"] += bool(entry["failed"])
    heads = ["target", *MODES, "CPU minutes", "lines reached", "runs that failed"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    whole: dict[str, float] = defaultdict(float)
    for name, row in sums.items():
        for key, value in row.items():
            whole[key] += value
        print(_row(name, row))
    print(_row("all", whole))


def _row(name: str, row: Any) -> str:
    counts = [f"{row[mode]:,.0f}" if row.get(mode) else "-" for mode in MODES]
    share = f"{row['reached']:.0f} of {row['lines']:.0f}" if row.get("lines") else "-"
    cells = [name, *counts, f"{row['cpu'] / 60:.1f}", share, f"{row['failed']:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Parse the options and fuzz; return exit code 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="*", help=f"Targets: {', '.join(TARGETS)}.")
    parser.add_argument("--all", action="store_true", help="Run every target in every mode.")
    parser.add_argument("--mode", choices=MODES, help="Run only this mode.")
    parser.add_argument("--seconds", type=float, default=60.0, help="Time for all runs together.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, help="Folder of corpus, findings and log.")
    parser.add_argument("--lines", action="store_true", help="Also count the lines reached.")
    parser.add_argument("--summary", nargs="+", metavar="LOG", help="Only summarise these logs.")
    given = parser.parse_args()
    if given.summary:
        summarize(given.summary)
        return 0
    unknown = set(given.target) - set(TARGETS)
    if unknown or bool(given.target) == given.all:
        parser.error(f"give --all, or one or more of {', '.join(TARGETS)}")
    work = given.work or pathlib.Path(tempfile.mkdtemp(prefix="fuzz"))
    work.mkdir(parents=True, exist_ok=True)
    names = given.target or list(TARGETS)
    runs = [(n, m) for n in names for m in TARGETS[n].modes if given.mode in (None, m)]
    found = 0
    if {"model", "body", "raw"} & set(names):
        prepare(work)
    with open(work / "log.jsonl", "a") as log:
        for name, mode in runs:
            done = [run(name, mode, given.seconds / len(runs), given.seed, work)]
            if given.lines and mode == "interpreted":
                done.append(lines_reached(name, work))
            for entry in done:
                print(json.dumps(entry), file=log, flush=True)
                print(json.dumps(entry), flush=True)
            found += bool(done[0]["failed"])
    if found:
        print(f"{found} of {len(runs)} runs failed: see {work / 'findings'}")
        return 1
    if given.work is None:
        shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
