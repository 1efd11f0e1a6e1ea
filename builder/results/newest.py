"""Which result file is meant where a folder is named: the newest in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builder.errors import DatabaseError
from builder.write.result_writer import SUFFIX


def newest_result(paths: Sequence[Path]) -> Path:
    """The one of several files and folders that was last written, as a shell's `*.vis.db` gives.

    Raises DatabaseError for a folder without a result; a file that is missing counts as the oldest.
    """
    return max((result_file(path) for path in paths), key=_written)


def result_file(path: Path) -> Path:
    """The result that was last written into a folder; what is no folder stays as it is.

    Raises DatabaseError for a folder without a result.
    """
    if not path.is_dir():
        return path
    found = [each for each in path.iterdir() if each.name.endswith(SUFFIX) and each.is_file()]
    if not found:
        raise DatabaseError(
            f"{path}: no *.vis.db in this folder", "`msprobe graph_visualize` makes one"
        )
    return max(found, key=_written)


def _written(file: Path) -> tuple[int, str]:
    """When a file was written; copies may be of one moment, and names of builds end with theirs."""
    try:
        return file.stat().st_mtime_ns, file.name
    except OSError:  # whoever opens it says what is wrong
        return -1, file.name
