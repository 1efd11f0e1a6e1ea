"""Where a result of the comparison goes: a JSON file and a table beside it, never over others."""

from __future__ import annotations

from pathlib import Path

from msprobe.errors import CheckError


def check_output(path: Path) -> None:
    """Refuse a place for the result that is no new JSON file; raises CheckError."""
    if path.suffix != ".json":
        raise CheckError(
            f"{path}: the result is one JSON file", "give -o a name that ends in .json"
        )
    for file in (path, table_of(path)):
        if file.exists():
            raise CheckError(f"{file}: exists already", "remove it or choose another -o")
    if not path.parent.is_dir():
        raise CheckError(f"{path.parent}: is no folder", "make it or choose another -o")


def table_of(path: Path) -> Path:
    """The table that stands beside the JSON file."""
    return path.with_suffix(".csv")
