"""A folder of a mounted file system."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from uuid import uuid4

from builder.errors import OutputError
from builder.storage.folder import Item
from msprobe_core.format.regular_file import read_regular
from msprobe_core.format.whole_file import put_in_place


class LocalFolder:
    """A folder by its path; files appear in it whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def text(self) -> str:
        return str(self.path)

    def below(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def listed(self) -> list[Item]:
        try:
            children = list(self.path.iterdir())
        except FileNotFoundError:
            return []
        # Others write here at the same time: what has gone since is not there.
        return sorted(item for child in children if (item := _item(child)) is not None)

    def size(self, name: str) -> int | None:
        try:
            return (self.path / name).stat().st_size
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes | None:
        try:
            return read_regular(self.path / name)
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        beside = self._beside(name)
        try:
            beside.write_bytes(content)
            put_in_place(beside, self.path / name)
        finally:
            beside.unlink(missing_ok=True)

    def put(self, local: Path, name: str) -> None:
        beside = self._beside(name)
        try:
            shutil.copyfile(local, beside)
            put_in_place(beside, self.path / name)
        finally:
            beside.unlink(missing_ok=True)

    def fetch(self, name: str, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path / name, local)

    def remove(self, name: str) -> None:
        path = self.path / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _beside(self, name: str) -> Path:
        target = self.path / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise OutputError(f"{self.path}: a file is in the way", "choose another -o") from error
        return target.with_name(f".{target.name}.{uuid4().hex[:8]}")


def _item(path: Path) -> Item | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(facts.st_mode):
        return Item(path.name, True, None)
    return Item(path.name, False, facts.st_size, str(facts.st_mtime_ns))
