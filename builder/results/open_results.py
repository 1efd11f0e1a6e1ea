"""Opens a result file of either format."""

from __future__ import annotations

from pathlib import Path

from builder.results.database import ResultDatabase
from builder.results.msprobe.queries import MsprobeDatabase
from builder.results.opening import format_of
from builder.results.reading import Results


def open_results(path: Path) -> Results:
    """Open a result file, ours or one of msprobe's own builder; raises DatabaseError."""
    return MsprobeDatabase(path) if format_of(path) == "msprobe" else ResultDatabase(path)
