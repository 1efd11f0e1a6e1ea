"""A file of msprobe's own builder as it is on the disk: its connections, and pairs read whole."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from builder.errors import DatabaseError, UnknownNodeError
from builder.results.engine import open_engine
from builder.results.msprobe.graph import COLUMNS, THRESHOLD, MsprobePair, Row, make_pair
from builder.results.records import Side

SOURCES: dict[Side, str] = {"problem": "NPU", "benchmark": "Bench"}
MOST_PAIRS_OPEN = 4
_MOST_NODES = 2_000_000
_LARGEST_ROW = 2**63 - 1  # of SQLite; a request may ask for more
_COUNTS = """
    SELECT step, rank, data_source, count(*), max(precision_index),
        sum(precision_index > :threshold),
        sum(matched_node_link NOT IN ('', '[]'))
    FROM tb_nodes WHERE node_type IN ('0', '1') AND up_node != '' GROUP BY 1, 2, 3
"""


class MsprobeFile:
    """The open file, and the pairs that were asked for last, for any number of threads."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.engine: Engine = open_engine(file)
        self._pairs: OrderedDict[tuple[int, int], MsprobePair] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Let go of the file."""
        self.engine.dispose()

    @cached_property
    def config(self) -> dict[str, Any]:
        """The facts about the whole file."""
        with self.engine.connect() as connection:
            row = connection.execute(text("SELECT * FROM tb_config LIMIT 1")).mappings().first()
        if row is None:
            raise DatabaseError(f"{self.file}: its table tb_config is empty", "build it again")
        return dict(row)

    @cached_property
    def counts(self) -> dict[tuple[int, int], dict[Side, tuple[Any, ...]]]:
        """By step and rank, of each side: nodes, worst index, divergent nodes, matched nodes."""
        names = {source: side for side, source in SOURCES.items()}
        counts: dict[tuple[int, int], dict[Side, tuple[Any, ...]]] = {}
        with self.engine.connect() as connection:
            for step, rank, source, *numbers in connection.execute(
                text(_COUNTS), {"threshold": THRESHOLD}
            ):
                if source in names:
                    counts.setdefault((step, rank), {})[names[source]] = tuple(numbers)
        return dict(sorted(counts.items()))

    def pair_of(self, id_: int) -> MsprobePair:
        """The pair that a node is in; raises UnknownNodeError."""
        pair = self.find(id_)
        if pair is None:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return pair

    def find(self, id_: int) -> MsprobePair | None:
        """The pair that a node is in; None where no node has this id."""
        if id_ > _LARGEST_ROW:
            return None
        with self.engine.connect() as connection:
            query = text("SELECT step, rank FROM tb_nodes WHERE rowid = :id")
            row = connection.execute(query, {"id": id_}).first()
        if row is None or tuple(row) not in self.counts:
            return None
        pair = self.load(*row)
        return pair if id_ in pair.nodes else None

    def load(self, step: int, rank: int) -> MsprobePair:
        """The pair of a step and rank, read unless it is open; raises UnknownNodeError."""
        key = (step, rank)
        if key not in self.counts:
            raise UnknownNodeError(f"{self.file.name} has no step {step} rank {rank}")
        with self._lock:
            if key not in self._pairs:
                self._pairs[key] = self._read(step, rank)
                while len(self._pairs) > MOST_PAIRS_OPEN:
                    self._pairs.popitem(last=False)
            self._pairs.move_to_end(key)
            return self._pairs[key]

    def graph_id(self, step: int, rank: int, side: Side) -> int:
        """The id that one side of a pair goes by: the file has none."""
        return 2 * list(self.counts).index((step, rank)) + (1 if side == "problem" else 2)

    def _read(self, step: int, rank: int) -> MsprobePair:
        if sum(counts[0] for counts in self.counts[step, rank].values()) > _MOST_NODES:
            raise DatabaseError(
                f"{self.file}: more than {_MOST_NODES} nodes in step {step} rank {rank}",
                "compare the dumps with `msprobe graph_visualize`",
            )
        query = text(
            f"SELECT {COLUMNS} FROM tb_nodes "
            "WHERE step = :step AND rank = :rank AND data_source = :source"
        )
        rows: dict[Side, list[Row]] = {}
        graphs = {side: self.graph_id(step, rank, side) for side in SOURCES}
        with self.engine.connect() as connection:
            for side, source in SOURCES.items():
                given = {"step": step, "rank": rank, "source": source}
                rows[side] = [Row(*row) for row in connection.execute(query, given).all()]
            return make_pair(step, rank, dict(rows), graphs)
