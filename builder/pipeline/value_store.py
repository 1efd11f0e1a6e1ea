"""Writes the values of a pair as soon as they are compared, beside what is still to be found out.

Values refer to nothing but each other and their forms, so they need not wait for the nodes. Those
of a pair that fails later belong to no node and are seen by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType

from builder.compare import Columns, Comparison, columns_of
from builder.database.tables import FORM
from builder.database.writer import Database, insert_columns, insert_rows
from builder.dump.forms import Forms
from builder.dump.reader import Dump
from builder.parallel import CAN_FORK, beside
from builder.pipeline.value_rows import form_rows, pair_columns, record_columns

# Below this many values a second process takes longer to start than the writing takes.
_MANY = 10_000


class ValueStore:
    """Values, forms and stacks of one pair; as a context manager it leaves no process behind.

    With `beside` another process writes while this one goes on.
    """

    def __init__(self, database: Database, *, beside: bool) -> None:
        self._database = database
        self._beside = beside and CAN_FORK
        self._running = ExitStack()
        self._result: Callable[[], None] | None = None
        self.first: dict[str, int] = {}

    def __enter__(self) -> ValueStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._running.close()

    def begin(self, dumps: Sequence[Dump], comparison: Comparison | None) -> None:
        """Take ids for the values of the dumps, the problem's first, and start to write them."""
        forms, columns = _columns(dumps, comparison)
        values = sum(len(dump.values.records) for dump in dumps)
        counts = {"record": values, "form": len(forms)}
        stacks = sum(len(dump.frames) for dump in dumps)
        self.first = self._database.reserve({**counts, "stack": stacks})
        many = self._beside and values >= _MANY

        def write() -> None:
            # A connection of its own: SQLite's must not cross a fork.
            database = Database(self._database.final)
            _write(database, dumps, comparison, (forms, columns), self.first)
            database.close()

        self._result = self._running.enter_context(beside(write, fork=many))

    def finish(self) -> None:
        """Wait until all values are in the database."""
        assert self._result is not None
        self._result()


def _columns(
    dumps: Sequence[Dump], comparison: Comparison | None
) -> tuple[Forms, Sequence[Columns]]:
    if comparison is not None:
        return comparison.forms, comparison.columns
    forms = Forms()
    return forms, [columns_of(dump.values, forms) for dump in dumps]


def _write(
    database: Database,
    dumps: Sequence[Dump],
    comparison: Comparison | None,
    known: tuple[Forms, Sequence[Columns]],
    first: dict[str, int],
) -> None:
    # The columns are ready before the lock is taken, since other pairs wait for it.
    forms, columns = known
    tables = []
    base = first["record"]
    for dump, side in zip(dumps, columns, strict=True):
        full, sparse = record_columns(dump.values.records, base, side, first["form"])
        base += len(dump.values.records)
        if comparison is not None and dump is dumps[0]:
            more, more_sparse = pair_columns(comparison, len(dump.values.records), base)
            full, sparse = full | more, sparse | more_sparse
        tables.append((full, sparse))
    frames = [text for dump in dumps for text in dump.frames]
    with database.transaction() as connection:
        insert_rows(connection, "form", FORM.columns, form_rows(forms, first["form"]))
        for full, sparse in tables:
            insert_columns(connection, "record", full, sparse)
        insert_rows(connection, "stack", ("id", "text"), enumerate(frames, first["stack"]))
