"""How far each finding reaches, counted in the file that is about to be finished."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from builder.errors import BuilderError
from builder.work.outcome import StoredFinding
from builder.write.result_writer import Database

if TYPE_CHECKING:
    from builder.results.followers.spread import Spread


def load_readers() -> None:
    """Load what counts the reaches of findings, while the pairs are worked on elsewhere."""
    importlib.import_module("builder.results.followers.spread")
    importlib.import_module("builder.results.database")


def with_reaches(database: Database, findings: Sequence[StoredFinding]) -> list[StoredFinding]:
    """The findings with the divergent nodes that go back to each, over all of its places.

    Findings, nodes and values are in the file, and it is put there, too. Where the runs share too
    few calls for any to be named nothing goes back to any. What takes longer than a reader of the
    file may wait stays uncounted.
    """
    if not findings:
        return []
    # Readers load SQLAlchemy, which whoever builds without any finding needs not.
    from sqlalchemy.exc import SQLAlchemyError

    from builder.results.database import ResultDatabase
    from builder.results.followers.spread import NOWHERE, spreads

    try:
        with closing(ResultDatabase(database.partial)) as results:
            found = spreads(results)
    except (sqlite3.Error, SQLAlchemyError, BuilderError):
        return list(findings)
    reached = [_with(one, found.get(number, NOWHERE)) for number, one in enumerate(findings, 1)]
    with database.transaction() as connection:
        connection.executemany(
            "UPDATE finding SET propagated_to = ?, perhaps = ?, divergent = ? WHERE id = ?",
            [(r.propagated_to, r.perhaps, r.divergent, n) for n, r in enumerate(reached, 1)],
        )
    return reached


def _with(finding: StoredFinding, spread: Spread) -> StoredFinding:
    certain, perhaps, divergent = spread.certain, spread.perhaps, spread.divergent
    return replace(finding, propagated_to=certain, perhaps=perhaps, divergent=divergent)
