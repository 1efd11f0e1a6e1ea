"""Opens regular files alone: whoever opens a named pipe waits for a writer that may never come."""

from __future__ import annotations

import errno
import os
import stat

# Windows would translate line ends; without waiting a pipe opens at once, and is refused then.
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class IrregularFileError(OSError):
    """What stands under a file's name is a named pipe, a socket or a device."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        said = "is a named pipe, socket or device, no regular file"
        super().__init__(errno.EINVAL, said, os.fspath(path))


def open_regular(path: str | os.PathLike[str]) -> int:
    """The descriptor of a regular file, open for reading; the caller closes it.

    Raises IrregularFileError, and OSError as `os.open` does.
    """
    file = os.open(path, _FLAGS)
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return file
    os.close(file)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise IrregularFileError(path)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file; raises as `open_regular`."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read()


def require_regular(path: str | os.PathLike[str]) -> None:
    """For readers that open a path themselves; raises as `open_regular`."""
    mode = os.stat(path).st_mode  # noqa: PTH116 - a text as well as a path
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise IrregularFileError(path)
