"""A disk that is full from the start is told in one line, and nothing is left on it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from builder.errors import OutputError
from builder.write.result_writer import Database


@pytest.mark.parametrize("error", ["database or disk is full", "disk I/O error"])
def test_full_disk_is_an_output_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    class Full(sqlite3.Connection):
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
            if statement.startswith("CREATE"):
                raise sqlite3.OperationalError(error)
            return super().execute(statement, *values)  # type: ignore[arg-type]

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Full)
    )
    with pytest.raises(OutputError, match=error):
        Database.create(tmp_path, "compare")
    assert list(tmp_path.iterdir()) == []
