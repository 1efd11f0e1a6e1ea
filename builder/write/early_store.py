"""Writes what is known of a pair once it is measured, beside what is still to be found out.

That is the values, which refer to nothing but each other and their forms, what fed them, and the
benchmark's nodes, which no judgement changes. Those of a pair that fails later belong to no graph
and are seen by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from types import TracebackType

from builder.compare.columns import Columns, columns_of
from builder.dump.forms import Forms
from builder.flow.feeding import flow_of
from builder.flow.passages import passages_of
from builder.processes.second_process import CAN_FORK, beside
from builder.processes.shared_pieces import SharedPieces
from builder.work.pair import ComparedPair
from builder.write.flow_rows import flow_columns, passage_columns
from builder.write.node_rows import Full, Sparse, node_columns
from builder.write.placement import Placed, count_nodes, place_pair
from builder.write.result_writer import Database, insert_columns, insert_rows
from builder.write.tables import FORM
from builder.write.value_rows import form_rows, pair_columns, record_columns

# Below this many values a second process takes longer to start than the writing takes.
_MANY = 10_000


class EarlyStore:
    """The early writing of one pair; as a context manager it leaves no process behind.

    With `beside` another process writes while this one goes on.
    """

    def __init__(self, database: Database, *, beside: bool) -> None:
        self._database = database
        self._beside = beside and CAN_FORK
        self._running = ExitStack()
        self._result: Callable[[], None] | None = None
        self._pieces: SharedPieces[Database] | None = None
        self._pair: ComparedPair | None = None
        self._first: dict[str, int] = {}
        self._forms = Forms()
        self._columns: Sequence[Columns] = ()

    def __enter__(self) -> EarlyStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._running.close()

    def begin(self, pair: ComparedPair) -> None:
        """Take ids for all that a pair will have, the problem's first, and start to write."""
        forms, columns = self._forms, self._columns = _columns(pair)
        dumps = [tree.dump for tree in pair.trees]
        values = sum(len(dump.values.records) for dump in dumps)
        counts = {"record": values, "form": len(forms), "graph": len(dumps)}
        counts["stack"] = sum(len(dump.frames) for dump in dumps)
        counts["node"] = sum(count_nodes(tree) for tree in pair.trees)
        self._pair, self._first = pair, self._database.reserve(counts)

        pieces: SharedPieces[Database] = SharedPieces(
            (
                lambda database: _write_values(database, pair, forms, columns, self._first),
                lambda database: _write_benchmark(database, pair, *self.places),
                lambda database: self._write_flow(database, 1),
                lambda database: self._write_flow(database, 0),
            )
        )
        self._pieces = self._running.enter_context(closing(pieces))

        def write() -> None:
            # A connection of its own: SQLite's must not cross a fork.
            database = Database(self._database.final)
            pieces.work_on(database)
            database.close()

        many = self._beside and values >= _MANY
        self._result = self._running.enter_context(beside(write, fork=many))

    def _write_flow(self, database: Database, side: int) -> None:
        """What fed what on one side, and what passed through calls without values."""
        assert self._pair is not None
        placed = self.places[side]
        if placed is None:
            return
        columns, forms = self._columns[side], self._forms.listed()
        # Of two sides the diagnosis has asked already.
        flows = self._pair.flows
        flow = flows[side] if flows is not None else flow_of(placed.tree, columns, forms)
        tables = (
            ("flow", *flow_columns(placed, flow)),
            ("passage", *passage_columns(placed, passages_of(flow, columns, forms))),
        )
        with database.transaction() as connection:
            for name, full, sparse in tables:
                insert_columns(connection, name, full, sparse)

    @cached_property
    def places(self) -> tuple[Placed, Placed | None]:
        """Both trees with their ids.

        Not to be asked for before the pair is judged: the collections that it puts into the trees
        are for the eye. A second process has trees of its own.
        """
        assert self._pair is not None
        return place_pair(self._pair.problem, self._pair.benchmark, self._first)

    def finish(self) -> None:
        """Write what the other process has not begun with, then wait until all is written."""
        assert self._result is not None and self._pieces is not None
        self._pieces.work_on(self._database)
        self._result()


def _columns(pair: ComparedPair) -> tuple[Forms, Sequence[Columns]]:
    if pair.comparison is not None:
        return pair.comparison.forms, pair.comparison.columns
    forms = Forms()
    return forms, [columns_of(tree.dump.values, forms) for tree in pair.trees]


def _write_values(
    database: Database,
    pair: ComparedPair,
    forms: Forms,
    columns: Sequence[Columns],
    first: dict[str, int],
) -> None:
    # The columns are ready before the lock is taken, since other pairs wait for it.
    dumps = [tree.dump for tree in pair.trees]
    tables: list[tuple[Full, Sparse]] = []
    base = first["record"]
    for dump, side in zip(dumps, columns, strict=True):
        count = len(dump.values.records)
        full, sparse = record_columns(dump.values.records, base, side, first["form"])
        base += count
        if pair.comparison is not None and dump is dumps[0]:
            more, more_sparse = pair_columns(pair.comparison, count, base)
            full, sparse = full | more, sparse | more_sparse
        tables.append((full, sparse))
    frames = [text for dump in dumps for text in dump.frames]
    with database.transaction() as connection:
        insert_rows(connection, "form", FORM.columns, form_rows(forms, first["form"]))
        for full, sparse in tables:
            insert_columns(connection, "record", full, sparse)
        insert_rows(connection, "stack", ("id", "text"), enumerate(frames, first["stack"]))


def _write_benchmark(
    database: Database, pair: ComparedPair, problem: Placed, benchmark: Placed | None
) -> None:
    if benchmark is not None:
        columns = node_columns(benchmark, problem, pair)
        with database.transaction() as connection:
            insert_columns(connection, "node", *columns)
