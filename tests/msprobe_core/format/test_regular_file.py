"""Regular files are read; whatever else has a file's name is refused before anybody waits."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from msprobe_core.format.regular_file import (
    IrregularFileError,
    open_regular,
    read_regular,
    require_regular,
)

READERS = (read_regular, open_regular, require_regular)


def test_a_regular_file_and_a_link_to_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1\r\n2")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"1\r\n2"
    assert read_regular(str(tmp_path / "file")) == b"1\r\n2"
    require_regular(tmp_path / "link")


@pytest.mark.parametrize("read", READERS)
def test_a_pipe_and_a_device_are_refused_with_their_path(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(IrregularFileError, match=r"named pipe, socket or device") as caught:
            read(path)
        assert caught.value.filename == str(path)


@pytest.mark.parametrize("read", READERS)
def test_what_is_missing_says_so(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")


def test_a_folder_is_none_and_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IrregularFileError):
        read_regular(tmp_path / "pipe")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_socket_cannot_be_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match="s"):
            read_regular(tmp_path / "s")
