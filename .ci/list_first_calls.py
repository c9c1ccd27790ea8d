"""Write src/widemargin/loops/first_calls.json: the loops of first calls, for `loops/ahead.py`.

    python .ci/list_first_calls.py

A change of the arguments of a loop asks for it; `tests/loops/test_ahead.py` says so.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.startup import FIRST_CALLS, note_loops  # noqa: E402

from widemargin.loops.ahead import LIST  # noqa: E402

#: Calls that need several seconds of compiling.
CALLS = ("TextClassifier", "Tagger", "Parser")


def main() -> None:
    """Run each call in a process of its own, and note its loops."""
    if sys.argv[1:]:
        print(json.dumps(note_loops(FIRST_CALLS[sys.argv[1]])))
        return
    found = {}
    for call in CALLS:
        done = subprocess.run(
            [sys.executable, __file__, call], check=True, stdout=subprocess.PIPE, text=True
        )
        found[call] = json.loads(done.stdout)
    LIST.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
