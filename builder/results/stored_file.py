"""A result file and its volumes as they are on the disk: connections, and what is read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from sqlalchemy import Engine, Row, Select, case, inspect, literal, null, select

from builder.match.manual_file import MappedPair
from builder.reasons import decode
from builder.results.cache import Cache
from builder.results.engine import open_engine
from builder.results.manual.patches import GraphChange
from builder.results.records import Side, Summary
from builder.results.schema import graph, meta
from builder.results.shown_evidence import stored_evidence
from builder.results.side_nodes import SideNodes
from builder.results.stored_rows import object_of, pair_of
from builder.results.volumes import Volume, Volumes

_MOST_PAIRS = 2  # per file: rows are asked for first, then what lists and searches read
LARGEST = 2**63 - 1  # of SQLite; a request may ask for more
# SQLite before 3.32 takes no more in one statement.
MOST_PARAMETERS = 900
_MOST_VOLUMES = 16  # open at a time; each is a few files and some memory
# Made at once: msgspec crashes when two threads are the first to use a type.
_decode_pairs = msgspec.json.Decoder(list[MappedPair]).decode


class StoredFile:
    """The open file and what is the same through all patches, read once when first asked for.

    `engine` connects to the file itself; what a volume has is seen through `engine_at`.
    """

    def __init__(self, path: Path) -> None:
        self.engine = open_engine(path)
        self.volumes = Volumes(path)
        self._path = path
        self._opened: OrderedDict[Volume, Engine] = OrderedDict()
        self._lock = Lock()
        self.nodes_of: Cache[list[SideNodes]] = Cache(_MOST_PAIRS)

    @property
    def is_split(self) -> bool:
        """Whether nodes and values lie in volumes beside the file."""
        return bool(self.volumes.listed)

    def close(self) -> None:
        """Let go of the file and its volumes."""
        self.engine.dispose()
        with self._lock:
            for engine in self._opened.values():
                engine.dispose()
            self._opened.clear()

    def engine_at(self, id_: int) -> Engine:
        """The connections that see what lies around an id of any table, were it in a volume."""
        return self._of(self.volumes.of(id_))

    def by_volume(self, ids: Iterable[int]) -> Iterator[tuple[Engine, list[int]]]:
        """Ids of nodes by the engine that sees them."""
        own: dict[Volume | None, list[int]] = {}
        for id_ in ids:
            own.setdefault(self.volumes.of(id_), []).append(id_)
        yield from ((self._of(volume), part) for volume, part in own.items())

    def in_parts(self, ids: Iterable[int]) -> Iterator[tuple[Engine, list[int]]]:
        """The same, as many at a time as one statement takes; what is no id is left out."""
        for engine, part in self.by_volume(id_ for id_ in ids if id_ <= LARGEST):
            for start in range(0, len(part), MOST_PARAMETERS):
                yield engine, part[start : start + MOST_PARAMETERS]

    def everywhere(self) -> Iterator[tuple[Engine, tuple[int, int]]]:
        """All engines with the range of ids that each sees; a volume that is missing is none."""
        if not self.volumes.listed:
            yield self.engine, (0, 2**63 - 1)
        for volume, first, last in self.volumes.ranges():
            if volume.missing is None:
                yield self._of(volume), (first, last)

    def _of(self, volume: Volume | None) -> Engine:
        if volume is None:
            return self.engine
        with self._lock:
            engine = self._opened.pop(volume, None) or open_engine(self._path, volume)
            self._opened[volume] = engine
            if len(self._opened) > _MOST_VOLUMES:
                # Whoever still has a connection of it keeps that one.
                self._opened.popitem(last=False)[1].dispose()
        return engine

    @cached_property
    def meta(self) -> dict[str, str]:
        """The facts about the whole file."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(meta.c.key, meta.c.value))
            return {row.key: row.value for row in rows}

    @cached_property
    def graphs(self) -> list[Row[Any]]:
        """All rows of the graph table by step, rank and side."""
        order = (graph.c.step, graph.c.rank, graph.c.side.desc(), graph.c.id)
        with self.engine.connect() as connection:
            return list(connection.execute(self._graph_query().order_by(*order)))

    def _graph_query(self) -> Select[Any]:
        """All graphs; those of a volume that is not there have failed."""
        gone = [each for each in self.volumes.ranges() if each[0].missing is not None]
        if not gone:
            return select(graph)
        lost = [(graph.c.id.between(low, high), volume.missing) for volume, low, high in gone]
        instead = {
            "status": case(
                *((of_it, literal("failed")) for of_it, _ in lost), else_=graph.c.status
            ),
            "error": case(*((of_it, literal(told)) for of_it, told in lost), else_=graph.c.error),
            "root": case(*((of_it, null()) for of_it, _ in lost), else_=graph.c.root),
        }
        return select(*(instead.get(c.name, c).label(c.name) for c in graph.c))

    @cached_property
    def sides(self) -> dict[int, Side]:
        """The side of each graph."""
        return {row.id: row.side for row in self.graphs}

    @cached_property
    def pairs(self) -> dict[tuple[int, int], list[Row[Any]]]:
        pairs: dict[tuple[int, int], list[Row[Any]]] = {}
        for row in self.graphs:
            pairs.setdefault((row.step, row.rank), []).append(row)
        return pairs

    def summary(self, changes: Mapping[int, GraphChange]) -> Summary:
        """The file as a whole, with what patches change of its graphs."""
        meta = self.meta
        return Summary(
            task=meta.get("task", "structure"),  # type: ignore[arg-type]  # of a file that was checked
            comparison="benchmark" in meta,
            tool_version=meta.get("tool_version", "unknown"),
            created=meta.get("created", ""),
            problem=meta.get("problem", ""),
            benchmark=meta.get("benchmark"),
            overflow_checked=bool(self.options.get("overflow_check")),
            summary=decode(meta.get("summary")),
            pairs=[pair_of(rows, changes) for rows in self.pairs.values()],
            evidence=stored_evidence(meta.get("evidence")),
            kind=next(iter(decode(meta.get("kind"))), None),
        )

    @cached_property
    def has_flow(self) -> bool:
        # Seldom asked, and never of a file's own word: the tables are those of its schema.
        return inspect(self.engine).has_table("flow")

    @cached_property
    def has_passages(self) -> bool:
        return inspect(self.engine).has_table("passage")

    @cached_property
    def manual_pairs(self) -> tuple[MappedPair, ...]:
        """The pairs made by hand that the build knew."""
        try:
            return tuple(_decode_pairs(self.meta.get("manual_pairs", "[]")))
        except msgspec.MsgspecError:
            return ()  # a file may come from anywhere

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options of the build."""
        return object_of(self.meta.get("options"))
