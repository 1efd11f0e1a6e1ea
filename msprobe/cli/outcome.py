"""Exit codes of the command line.

Scripts rely on the numbers; README lists them.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the shell is told."""

    DONE = 0
    INPUT_ERROR = 1
    USAGE = 2
    FAILED_PAIRS = 3
    DIVERGED = 4
    NOTHING_COMPARABLE = 5
    INTERRUPTED = 130
