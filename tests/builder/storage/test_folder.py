"""Folders by path and by address hold the same and answer alike."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from builder import InputError
from builder.storage.folder import Folder, address_of, is_address
from builder.storage.opening import open_folder

pytest.importorskip("fsspec")


@pytest.fixture(params=["path", "file", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    place = {
        "path": f"{tmp_path}/f",
        "file": f"file://{tmp_path}/f",
        "memory": f"memory://{uuid4()}",
    }
    return open_folder(place[request.param])


def test_what_is_written_is_read_listed_and_removed(folder: Folder, tmp_path: Path) -> None:
    assert folder.listed() == []
    assert folder.read("a.json") is None
    assert folder.size("a.json") is None
    folder.write("a.json", b"{}")
    local = tmp_path / "local"
    local.write_bytes(b"0123")
    folder.put(local, "below/deep/b.bin")
    assert [tuple(item)[:3] for item in folder.listed()] == [
        ("a.json", False, 2),
        ("below", True, None),
    ]
    assert [item.name for item in folder.below("below").below("deep").listed()] == ["b.bin"]
    assert folder.below("below").size("deep/b.bin") == 4
    folder.write("a.json", b"{1}")
    assert folder.read("a.json") == b"{1}"
    folder.fetch("below/deep/b.bin", tmp_path / "new" / "c")
    assert (tmp_path / "new" / "c").read_bytes() == b"0123"
    folder.remove("below")
    folder.remove("below")
    assert [item.name for item in folder.listed()] == ["a.json"]


def test_an_address_survives_being_a_path() -> None:
    for text in ("s3://bucket/run/step0", "memory://x", "/a/b", "relative/s3:/b"):
        assert address_of(Path(text)) == text
    assert [is_address(text) for text in ("s3://b", "c:/b", "/a://b")] == [True, False, False]


def test_an_unknown_kind_of_address_is_named() -> None:
    with pytest.raises(InputError, match="nosuch://x/y"):
        open_folder("nosuch://x/y")


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match="remote"):
        open_folder("s3://bucket/run")


def test_a_file_that_is_written_again_has_another_version(folder: Folder) -> None:
    folder.write("a.json", b"{}")
    (first,) = folder.listed()
    assert folder.listed() == [first]
    time.sleep(0.02)  # clocks of file systems tick that fast
    folder.write("a.json", b"[]")
    (second,) = folder.listed()
    assert (second.size, second.version != first.version) == (first.size, True)
