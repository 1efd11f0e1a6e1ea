"""Folders by path and by address hold the same and answer alike."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from builder import InputError
from builder.storage.addresses import open_folder
from builder.storage.folder import Folder, address_of, is_address
from builder.storage.remote_folder import RemoteFolder
from msprobe_core.format import whole_file

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


def test_what_vanishes_while_it_is_listed_hides_nothing(tmp_path: Path) -> None:
    for name in ("a.json", "b.part"):
        (tmp_path / name).write_bytes(b"1")
    (tmp_path / ".b.part.12345678").symlink_to(tmp_path / "gone")
    assert [item.name for item in open_folder(str(tmp_path)).listed()] == ["a.json", "b.part"]


class FlatStore:
    """An object store as s3fs shows one: keys are any texts, folders what stands before a slash."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys

    def invalidate_cache(self) -> None:
        """Nothing is kept."""

    def ls(self, path: str, detail: bool) -> list[dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        for key in (key for key in self.keys if key.startswith(f"{path}/")):
            head, sep, _ = key[len(path) + 1 :].partition("/")
            kind = "directory" if sep else "file"
            found[head] = {"name": f"{path}/{head}", "type": kind, "size": 0}
        return list(found.values())


@pytest.mark.parametrize("key", ["b/run/../../evil.txt", "b/run/..", "b/run/.", "b/run/a\0b"])
def test_a_key_that_leads_out_of_its_folder_is_refused(key: str) -> None:
    folder = RemoteFolder(FlatStore("b/run/dump.json", key), "b/run", "s3://b/run")
    with pytest.raises(InputError, match=r"s3://b/run/.*remove or rename"):
        folder.listed()


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, list[str]]] = []
    sync = os.fsync

    def fsync(file: int) -> None:
        names = [path.name for path in tmp_path.iterdir()]
        synced.append((Path(f"/proc/self/fd/{file}").readlink().name, names))
        sync(file)

    monkeypatch.setattr(whole_file.os, "fsync", fsync)
    open_folder(str(tmp_path)).write("a.json", b"{}")
    (content, before), (folder, after) = synced
    assert content.startswith(".a.json.")
    assert "a.json" not in before
    assert (folder, after) == (tmp_path.name, ["a.json"])
