"""The command line `msprobe`: one file per sub-command, each importing its room when called."""

from msprobe.cli.program import main

__all__ = ["main"]
