"""A folder that files are put into and taken from whole, wherever it is.

A path is a folder of a mounted file system. An address such as `s3://bucket/run` or `memory://run`
is opened through fsspec, which is loaded only then. Nothing here needs a rename at the other end:
a file that appears is complete where the store itself says so, and readers look for a marker.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import NamedTuple, Protocol

from builder.errors import InputError

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_FILE = "file://"
_FLATTENED = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+):/(?!/)")


class Item(NamedTuple):
    """Something directly in a folder; `size` is None for a folder.

    `version` is another one when a file was written again: a time, or the store's own tag.
    """

    name: str
    is_folder: bool
    size: int | None
    version: str = ""


class Folder(Protocol):
    """A folder; names in it may have slashes, and missing folders between are made."""

    @property
    def text(self) -> str:
        """The path or address, as messages name it."""

    def below(self, name: str) -> Folder:
        """A folder in it."""

    def listed(self) -> list[Item]:
        """What is directly in it, by name; empty where there is no such folder."""

    def size(self, name: str) -> int | None:
        """The bytes of a file; None where there is none."""

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a small file; whoever reads it sees all of it or nothing."""

    def put(self, local: Path, name: str) -> None:
        """Copy a file of this machine here."""

    def fetch(self, name: str, local: Path) -> None:
        """Copy a file of it to this machine."""

    def remove(self, name: str) -> None:
        """Remove a file or folder; one that is not there is no error."""


def is_address(text: str) -> bool:
    """Whether a text names a folder by an address and not by a path."""
    return _ADDRESS.match(text) is not None


def location_of(text: str) -> str:
    """A path or address as it is kept: without a last slash, `file://` as the path that it is.

    Raises InputError for an address that does not say on which host or in which bucket.
    """
    if text.startswith(_FILE):
        return str(Path(text.removeprefix(_FILE)))
    if not is_address(text):
        return str(Path(text))
    kind, _, place = text.partition("://")
    if not place or place.startswith("/"):
        raise InputError(f"{text}: no host or bucket in it", f"write {kind}://<host or bucket>/…")
    return text.rstrip("/")


def is_plain_name(name: str) -> bool:
    """Whether a text names something directly in a folder, on this machine's file systems."""
    return name not in ("", ".", "..") and "\0" not in name and PurePath(name).name == name


def address_of(path: Path) -> str:
    """The address behind a Path that was made of one, which leaves one slash of two."""
    return _FLATTENED.sub(r"\1://", str(path), count=1)
