"""Which result file is meant where a folder is named: the newest in it."""

from __future__ import annotations

from pathlib import Path

from builder.errors import DatabaseError
from builder.write.result_writer import SUFFIX


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
    # Copies may be of one second: the names of builds end with their time.
    return max(found, key=lambda each: (each.stat().st_mtime_ns, each.name))
