"""A folder behind an address, through fsspec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builder.errors import InputError
from builder.storage.folder import Item, is_plain_name
from msprobe_core.format.installation import install_command

_INSTALL = f"{install_command('remote')}; and what fsspec needs for it, as s3fs"


def open_remote(text: str) -> RemoteFolder:
    """Open an address; raises InputError for one that fsspec cannot open here."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(f"{text}: {error}", _INSTALL) from error
    try:
        system, path = url_to_fs(text)
    except ImportError as error:
        raise InputError(f"{text}: {error}", _INSTALL) from error
    except ValueError as error:
        raise InputError(f"{text}: {error}", "give a path or an address fsspec knows") from error
    return RemoteFolder(system, path, text.rstrip("/"))


# What stores say of a file that changes when it is written again, the surest first.
_TAGS = ("ETag", "etag", "md5Hash", "LastModified", "mtime", "updated", "created")


class RemoteFolder:
    """A folder of any file system that fsspec knows; it is put together from whole files."""

    def __init__(self, system: Any, path: str, text: str) -> None:  # noqa: ANN401 - fsspec has no types
        self._system, self._path, self.text = system, path.rstrip("/"), text

    def below(self, name: str) -> RemoteFolder:
        return RemoteFolder(self._system, self._in(name), f"{self.text}/{name}")

    def listed(self) -> list[Item]:
        self._system.invalidate_cache()
        try:
            entries = self._system.ls(self._path, detail=True)
        except FileNotFoundError:
            return []
        # Some stores list a folder as a file of its own name.
        return sorted(
            self._item(each) for each in entries if str(each["name"]).rstrip("/") != self._path
        )

    def size(self, name: str) -> int | None:
        self._system.invalidate_cache()
        try:
            return int(self._system.size(self._in(name)))
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes | None:
        try:
            return bytes(self._system.cat_file(self._in(name)))
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        self._system.makedirs(self._in(name).rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(self._in(name), content)

    def put(self, local: Path, name: str) -> None:
        self._system.makedirs(self._in(name).rpartition("/")[0], exist_ok=True)
        self._system.put_file(str(local), self._in(name))

    def fetch(self, name: str, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        self._system.get_file(self._in(name), str(local))

    def remove(self, name: str) -> None:
        try:
            self._system.rm(self._in(name), recursive=True)
        except FileNotFoundError:
            return

    def _in(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _item(self, facts: dict[str, Any]) -> Item:
        name = str(facts["name"]).rstrip("/").rpartition("/")[2]
        # A store's keys are any texts; a copy of this one would lie outside of its folder.
        if not is_plain_name(name):
            raise InputError(
                f"{self.text}/{name}: no name that a folder can hold", "remove or rename that key"
            )
        if facts["type"] == "directory":
            return Item(name, True, None)
        version = next((str(facts[tag]) for tag in _TAGS if facts.get(tag) is not None), "")
        return Item(name, False, int(facts["size"]), version)
