"""A wheel with machine code: what the environment variable WIDEMARGIN_COMPILED points at goes in.

Without the variable nothing happens, and the wheel is pure Python. `.ci/build_wheel.py` sets it.
"""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledLoops(BuildHookInterface):
    """Put a folder of machine code beside the loops, and name the Python that it is for."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder to the files of the wheel."""
        folder = os.environ.get("WIDEMARGIN_COMPILED")
        if folder and version == "standard":
            python = f"cp{sys.version_info.major}{sys.version_info.minor}"
            build_data["force_include"][folder] = "widemargin/loops/compiled"
            build_data["pure_python"] = False
            # Numba loads the code, so that it needs of the system what numba needs, and no more.
            build_data["tag"] = f"{python}-{python}-manylinux_2_17_x86_64"
