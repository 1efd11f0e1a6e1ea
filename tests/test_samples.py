"""The recorded samples say nothing of the machine that they were recorded on."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent / "samples"
# What stands in for a machine's folders is /job, /env and /python.
_OF_A_MACHINE = re.compile(rb"(?:/root|/home/\w|/Users/\w|/tmp|/work|\.pyenv)/[\w.-]+")


def contents(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """A file and, if it is an archive, every file in it."""
    yield name, data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for member in packed.namelist():
                yield from contents(f"{name}!{member}", packed.read(member))
    elif name.endswith((".tar", ".tar.xz", ".tar.gz")):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for entry in archive:
                inner = archive.extractfile(entry)
                if inner is not None:
                    yield from contents(f"{name}!{entry.name}", inner.read())


def test_no_sample_holds_a_path_of_a_machine() -> None:
    files = [path for path in SAMPLES.rglob("*") if path.is_file()]
    assert any(path.name == "dumps.tar.xz" for path in files)
    found = {
        name: hit.group()
        for path in files
        for name, data in contents(path.relative_to(SAMPLES).as_posix(), path.read_bytes())
        if (hit := _OF_A_MACHINE.search(data))
    }
    assert found == {}


def test_archives_are_looked_into(tmp_path: Path) -> None:
    inner = tmp_path / "stack.json"
    inner.write_text("/root/x/run.py")
    with tarfile.open(tmp_path / "dumps.tar.xz", "w:xz") as archive:
        archive.add(inner, "stack.json")
    packed = (tmp_path / "dumps.tar.xz").read_bytes()
    hits = [name for name, data in contents("a.tar.xz", packed) if _OF_A_MACHINE.search(data)]
    assert hits == ["a.tar.xz!stack.json"]
