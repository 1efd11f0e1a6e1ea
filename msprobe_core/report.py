"""What the dumper says to its user: single lines on standard error."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print one line; a closed stream does not disturb the run."""
    try:
        print(f"[msprobe] {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return
