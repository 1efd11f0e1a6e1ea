"""Exit codes of the command line.

Scripts rely on the numbers; docs/commands.md lists them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from builder.claim import Claim


class Exit(IntEnum):
    """What the shell is told."""

    DONE = 0
    INPUT_ERROR = 1
    USAGE = 2
    FAILED_PAIRS = 3
    DIVERGED = 4
    NOTHING_COMPARABLE = 5
    INTERRUPTED = 130


def exit_of(claim: Claim) -> Exit:
    """What an answer ends with: 0 only where all was compared that should have been.

    Runs that differ end with 0 too, unless a command was asked to fail then.
    """
    if claim.incomplete and any(gap.code in ("failed", "only_in") for gap in claim.evidence.gaps):
        return Exit.FAILED_PAIRS
    if claim.code == "nothing":
        return Exit.NOTHING_COMPARABLE
    return Exit.FAILED_PAIRS if claim.incomplete else Exit.DONE
