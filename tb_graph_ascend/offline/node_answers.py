"""The answers about single nodes: tens of thousands, so several processes ask for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from builder.results.database import ResultDatabase
from builder.results.records import Across
from builder.results.shards import NodeShards, holds_shards
from builder.results.stored_rows import cell_of
from tb_graph_ascend.offline.written import Handlers
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.app import create_app
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.workplace import Settings, make_workplace

# A process takes a second to start; in that time one answers for some hundred nodes.
_FEWEST_FOR_MANY = 5_000
_AT_ONCE = 500


def each_answer(asked: Handlers, result: Path, rest: str, nodes: Sequence[int]) -> Iterator[bytes]:
    """What the server answers of each node, as its address goes on behind the node."""
    parts = [nodes[start : start + _AT_ONCE] for start in range(0, len(nodes), _AT_ONCE)]
    if len(nodes) < _FEWEST_FOR_MANY:
        yield from asked.of_nodes(rest, nodes)
        return
    workers = min(os.cpu_count() or 1, len(parts))
    started = ProcessPoolExecutor(workers, get_context("spawn"), _open, (result,))
    with started as pool:
        for answers in pool.map(partial(_answers, rest), parts):
            yield from answers


def acrosses(asked: Handlers, opened: OpenDatabase, nodes: Sequence[int]) -> Iterator[bytes]:
    """Each node in every step and rank; where there is one alone it need not be looked for."""
    results = opened.database
    places = [(one.step, one.rank) for one in results.summary().pairs]
    if len(places) > 1 or not isinstance(results, ResultDatabase):
        yield from each_answer(asked, opened.file.path, "/across", nodes)
        return
    for start in range(0, len(nodes), _AT_ONCE):
        found = results.nodes_by_id(nodes[start : start + _AT_ONCE])
        handed = results.handed_on([node.id for node in found if node.match is None])
        for node in found:
            yield encoded(Across(node.name, node.side, [cell_of(places[0], node, handed)]))


def shards(asked: Handlers, opened: OpenDatabase, nodes: Sequence[int]) -> Iterator[bytes]:
    """What the ranks hold of each node; of a file that was not joined nothing."""
    if holds_shards(opened.database):
        yield from each_answer(asked, opened.file.path, "/shards", nodes)
        return
    nothing = encoded(NodeShards([]))
    for _ in nodes:
        yield nothing


def _handlers_of(result: Path) -> Handlers:
    """A server's handlers over the folder of a result; their request lasts as the process does."""
    settings = Settings(read_only=True)
    place = make_workplace([result.parent], settings)
    app = create_app([result.parent], settings)
    app.test_request_context().push()
    found = place.library.logdirs.find(result)
    assert found is not None, "the file was found before"
    return Handlers(app, place, found.token)


_here: Handlers | None = None


def _open(result: Path) -> None:
    global _here  # noqa: PLW0603 - of a process that answers for one file
    _here = _handlers_of(result)


def _answers(rest: str, nodes: Sequence[int]) -> list[bytes]:
    assert _here is not None, "the process has opened its file"
    return list(_here.of_nodes(rest, nodes))
