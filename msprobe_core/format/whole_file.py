"""Gives a finished file its name so that a machine that dies leaves all of it or nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def written_whole(final: Path) -> Iterator[Path]:
    """Yields a path beside a file to write to; it takes the file's place once the block is done.

    The name is nobody else's, so of two writers one wins, and no reader sees a mixture. Whatever
    fails leaves the file as it was, and nothing beside it. Raises OSError.
    """
    beside = final.with_name(f".{final.name[:200]}.{secrets.token_hex(6)}.partial")
    try:
        yield beside
        put_in_place(beside, final)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
