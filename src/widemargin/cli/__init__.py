"""The shell program of widemargin."""

from widemargin.cli.main import main

__all__ = ["main"]
