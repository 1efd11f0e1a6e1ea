"""Gives a finished file its name so that a machine that dies leaves all of it or nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def put_in_place(written: Path, final: Path) -> Path:
    """Rename a written file to its final name once its bytes are on the disk; returns the latter.

    Without the first sync a rename may outlive the content, without the second the name may not
    outlive a loss of power. Raises OSError when either cannot be done.
    """
    _sync(written, os.O_RDWR)
    written.replace(final)
    # Windows opens no folders, and some mounts refuse to sync them.
    with suppress(OSError):
        _sync(final.parent, os.O_RDONLY)
    return final


def _sync(path: Path, mode: int) -> None:
    file = os.open(path, mode)
    try:
        os.fsync(file)
    finally:
        os.close(file)
