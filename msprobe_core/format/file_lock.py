"""One writer at a time for a file that several processes read, change and write.

The lock is a file `.<name>.lock` beside it, held by the system: it goes with the process that held
it, however that ends, and none is ever stale. A folder cannot be locked in its place, since NFS
locks only what is open for writing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PATIENCE_SECONDS = 60.0  # mapping all modules of a large pair holds a lock for half of this
_NAP_SECONDS = 0.02


class LockedError(Exception):
    """Another process has held the lock for longer than anybody should."""


@contextmanager
def locked(path: Path, patience: float = _PATIENCE_SECONDS) -> Iterator[bool]:
    """Hold the lock of a file; False where there can be none, as in a folder that is read-only.

    Raises LockedError when another process does not let go of it within `patience` seconds.
    """
    beside = path.with_name(f".{path.name}.lock")
    deadline = time.monotonic() + patience
    held = _opened(beside)
    while held is not None and not (free := _taken(held, beside)):
        os.close(held)
        if time.monotonic() > deadline:
            raise LockedError(f"{path}: another process is writing it")
        if free is False:
            time.sleep(_NAP_SECONDS)
        held = _opened(beside)
    try:
        yield held is not None
    finally:
        if held is not None:
            # While it is held: whoever opened it meanwhile sees that the name is gone.
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            os.close(held)


def _opened(beside: Path) -> int | None:
    try:
        return os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None


def _taken(held: int, beside: Path) -> bool | None:
    """Whether the lock is ours; None where its file was removed by the one that had it."""
    try:
        _lock(held)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True  # a mount without locks: nothing more can be done than to write whole files
    try:
        return True if os.path.samestat(os.fstat(held), beside.stat()) else None
    except FileNotFoundError:
        return None


def _lock(held: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        msvcrt.locking(held, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # on Windows alone
        return
    # Of the open file, not of the process: two servers in one process exclude each other, too.
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
