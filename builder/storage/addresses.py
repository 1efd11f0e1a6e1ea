"""Opens the folder behind a path or an address."""

from __future__ import annotations

from pathlib import Path

from builder.storage.folder import Folder, is_address
from builder.storage.local_folder import LocalFolder


def open_folder(text: str) -> Folder:
    """The folder of a path or address.

    Raises InputError when fsspec, or what it needs for this kind of address, is not installed.
    """
    if not is_address(text):
        return LocalFolder(Path(text))
    from builder.storage.remote_folder import open_remote

    return open_remote(text)
