"""Build the documentation site: `python -m docs [FOLDER]`, from the root of the repository.

Everything is made from the library on this machine: the reference from docstrings, the pictures by
drawing them, the gallery by running `examples/`, and the shell program's reference by asking it.
Nothing is fetched, and a warning is an error.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    """Build the site; 0 if all is well."""
    from sphinx.cmd.build import main as build

    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site.")
    parser.add_argument("folder", nargs="?", default=str(HERE / "_build"), help="where to")
    parser.add_argument("--fresh", action="store_true", help="build all pages anew")
    parser.add_argument(
        "--no-gallery", action="store_true", help="show the examples without running them"
    )
    chosen = parser.parse_args()
    options = ["-W", "--keep-going", "-q", "-b", "html", "-j", "2"]
    if chosen.fresh:
        options += ["-E", "-a"]
    if chosen.no_gallery:
        options += ["-D", "plot_gallery=0"]
    code = build([*options, "-d", f"{chosen.folder}/doctrees", str(HERE), f"{chosen.folder}/html"])
    if code == 0:
        print(f"the site is {chosen.folder}/html/index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
