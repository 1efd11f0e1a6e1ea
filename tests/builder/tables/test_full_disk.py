"""A disk that is full at any moment of a table is told in one line, and nothing is left on it."""

from __future__ import annotations

import errno
import gc
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from builder.errors import OutputError
from builder.tables.sheets import write_csv, write_xlsx

ROWS = [[f"call {at}", at * 1.37, f"{at * 7919:x}"] for at in range(3_000)]
HEADER = ["name", "number", "text"]


class Disk:
    """Takes so many bytes of all files together, then none."""

    def __init__(self, room: int) -> None:
        self.room = room

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let files of tables be opened here."""

        def opened(path: Path, *given: Any, **named: Any) -> Any:
            return self._open(path, *given, **named)

        monkeypatch.setattr(Path, "open", opened)

    def _open(self, path: Path, mode: str = "r", *_: Any, **named: Any) -> Any:
        if "w" not in mode:
            return io.open(path, mode, **named)  # noqa: UP020 - Path.open leads here
        raw = io.BufferedWriter(_Raw(path, self))
        return raw if "b" in mode else io.TextIOWrapper(raw, **named)


class _Raw(io.FileIO):
    def __init__(self, path: Path, disk: Disk) -> None:
        super().__init__(path, "wb")
        self._disk = disk

    def write(self, data: Any, /) -> int:
        # A disk takes what still fits, and is full from then on.
        fits = min(len(memoryview(data).cast("B")), self._disk.room)
        self._disk.room -= fits
        if not fits:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(memoryview(data).cast("B")[:fits])


def _csv(stem: Path) -> object:
    return write_csv(stem, HEADER, ROWS)


def _one_sheet(stem: Path) -> object:
    return write_xlsx(stem, {"Sheet1": (HEADER, ROWS)})


def _two_sheets(stem: Path) -> object:
    return write_xlsx(stem, {"Sheet1": (HEADER, ROWS), "scores": (HEADER[:1], [["x"]] * 500)})


@pytest.mark.parametrize("room", [0, 1, 600, 8_192, 20_000, 50_000])
@pytest.mark.parametrize("write", [_csv, _one_sheet, _two_sheets])
def test_is_one_error_and_leaves_nothing(
    write: Any, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    disk = Disk(room)
    disk.install(monkeypatch)
    with pytest.raises(OutputError, match=r"tables: cannot be written \(No space left on device\)"):
        write(tmp_path / "tables" / "result")
    gc.collect()  # an archive that is collected writes its end, and a second error is nobody's
    assert list((tmp_path / "tables").iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_an_archive_of_a_disk_with_room_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Disk(1 << 30).install(monkeypatch)
    _two_sheets(tmp_path / "result")
    with zipfile.ZipFile(tmp_path / "result.xlsx") as written:
        assert written.testzip() is None
        assert "xl/worksheets/sheet2.xml" in written.namelist()


def test_rows_of_a_sheet_wait_beside_it_and_not_in_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    write_xlsx(tmp_path / "result", {"Sheet1": (HEADER, ROWS)})
    assert [path.name for path in tmp_path.iterdir()] == ["result.xlsx"]
