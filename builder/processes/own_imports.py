"""Children that take no module from the folder that a command happens to run in.

Python puts the working folder first for `-c` and `-m`, by which multiprocessing starts children
too: a user's `queue.py` or `builder.py` there would run in place of what is meant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SAFE = "PYTHONSAFEPATH"
# The whole search path is the parent's before anything but `sys`, which is built in, is imported.
_BOOT = "import sys; sys.path[:] = sys.argv[2:]; __import__({module!r}, fromlist=['main']).main()"


def python_command(module: str) -> list[str]:
    """The command that calls `main()` of a module in a new Python, which imports what this does."""
    return [sys.executable, "-c", _BOOT.format(module=module), "--", *sys.path]


@contextmanager
def own_imports() -> Iterator[None]:
    """What multiprocessing starts meanwhile keeps the working folder out; from Python 3.11 on.

    A spawned child is told the parent's search path as soon as it runs, so it loses nothing.
    """
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SAFE, None)
        else:
            os.environ[_SAFE] = before
