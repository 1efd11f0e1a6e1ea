"""Writes a result as one page: the server's answers, what windows are worked of, the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
from flask import Flask
from numpy.typing import NDArray

from builder.errors import DatabaseError, InputError
from builder.results.database import ResultDatabase
from builder.results.followers.step import StepFollowers
from builder.results.open_results import open_results
from tb_graph_ascend.offline.listed_nodes import list_cells, list_rows, node_cells
from tb_graph_ascend.offline.node_answers import acrosses, each_answer, shards
from tb_graph_ascend.offline.page_file import Column, Lines, PageFile, script_text
from tb_graph_ascend.offline.row_facts import (
    closed_rows,
    module_cells,
    row_cells,
    row_facts,
    seen_values,
    way_cells,
)
from tb_graph_ascend.offline.way_texts import followed, node_hops, origins_of, passed_along
from tb_graph_ascend.offline.written import Handlers
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.app import create_app
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.messages import Databases
from tb_graph_ascend.server.workplace import STATIC, Settings, Workplace, make_workplace

VERSION = 1
PROGRAM, STYLES = "page.js", "page.css"
_NODES_AT_ONCE = 1000


class PageError(InputError):
    """A page cannot be written; the text says why."""


class PairData(msgspec.Struct, frozen=True):
    """What the page has of a step and rank that can be shown."""

    step: int
    rank: int
    columns: dict[str, Column]
    lines: dict[str, Lines]


class PageData(msgspec.Struct, frozen=True):
    """What lies in the blocks: answers by address, and `pairs`: the `places` that have nodes."""

    version: int
    db: str
    threshold: float | None
    places: list[tuple[int, int]]
    addresses: list[str]
    answers: Lines
    pairs: list[PairData]


def write_page(result: Path, output: Path) -> int:
    """Write a result as a page that opens from the disk; its size in bytes.

    Raises PageError where the program is not built, DatabaseError for a file that cannot be read.
    """
    for name in (PROGRAM, STYLES):
        if not (STATIC / name).is_file():
            raise PageError(f"{STATIC / name}: the interface is not built", "run `make build`")
    if not result.is_file():
        raise DatabaseError(f"{result}: no such file", "`msprobe graph_visualize` makes one")
    open_results(result).close()
    waiting = output.with_name(f"{output.name}.part")
    try:
        with waiting.open("wb") as file:
            _write(result.resolve(), file)
        waiting.replace(output)
    finally:
        waiting.unlink(missing_ok=True)
    return output.stat().st_size


def _write(result: Path, file: IO[bytes]) -> None:
    settings = Settings(read_only=True)
    place = make_workplace([result.parent], settings)
    app = create_app([result.parent], settings)
    found = place.library.logdirs.find(result)
    if found is None:
        raise PageError(f"{result}: is no *.vis.db file", "give a result of `graph_visualize`")
    page = PageFile(file)
    page.write(_head(found.shown))
    with app.test_request_context():
        data = _data(app, place, found.token, page)
    page.write(f'<script type="application/json" id="page-data">{script_text(data)}</script>\n')
    page.write(f"<script>{_program()}</script>\n</body></html>\n")


def _data(app: Flask, place: Workplace, db: str, page: PageFile) -> PageData:
    asked = Handlers(app, place, db)
    opened = place.open(db)
    entries = [one for one in place.library.entries() if one.id == db]
    answers = dict(asked.of_file(Databases(entries, [], True)))
    pairs = []
    listed = opened.database.summary().pairs
    for one in listed:
        answers |= asked.of_pair(one.step, one.rank)
        if any(len(side) for side in opened.database.side_nodes(one.step, one.rank)):
            pairs.append(_pair(asked, place, opened, (one.step, one.rank), page))
    threshold = opened.database.threshold if opened.database.comparison else None
    lines = page.lines(_one_line(text) for text in answers.values())
    places = [(one.step, one.rank) for one in listed]
    return PageData(VERSION, db, threshold, places, list(answers), lines, pairs)


def _pair(
    asked: Handlers, place: Workplace, opened: OpenDatabase, at: tuple[int, int], page: PageFile
) -> PairData:
    results, patches = opened.database, opened.overlay.patches
    diff, nodes = place.library.diff(opened, *at), place.library.index(opened, *at)
    closed = closed_rows(diff)
    cells: dict[str, Mapping[str, NDArray[Any]]] = {
        "row": row_cells(results, diff, closed),
        "way": way_cells(diff.followers),
        "node": node_cells(nodes, patches),
        "list": list_cells(nodes, patches),
        "module": module_cells(diff),
    }
    ids = nodes.columns.id.tolist()
    parts = [ids[start : start + _NODES_AT_ONCE] for start in range(0, len(ids), _NODES_AT_ONCE)]
    lines = {
        "row": page.lines(map(encoded, closed)),
        "fact": page.lines(map(encoded, row_facts(results, diff, closed))),
        "seen": page.lines([encoded(seen_values(results, diff))]),
        "node": page.lines(encoded(one) for part in parts for one in results.nodes_by_id(part)),
        "list": page.lines(map(encoded, list_rows(opened, nodes, at, patches))),
        "name": page.lines([encoded(nodes.names.names_once())]),
        "path": page.lines([encoded(nodes.modules.paths)]),
        "module": page.lines(
            [encoded([diff.modules.title, diff.modules.type_name, diff.modules.other])]
        ),
    }
    lines |= {
        "details": page.lines(each_answer(asked, opened.file.path, "", ids)),
        "node/flow": page.lines(each_answer(asked, opened.file.path, "/flow", ids)),
        "node/across": page.lines(acrosses(asked, opened, ids)),
        "node/shards": page.lines(shards(asked, opened, ids)),
    }
    lines |= _ways(asked, opened, diff.followers, at, page)
    columns = {
        f"{group}.{name}": page.column(cell)
        for group, named in cells.items()
        for name, cell in named.items()
    }
    return PairData(*at, columns, lines)


def _ways(
    asked: Handlers,
    opened: OpenDatabase,
    here: StepFollowers,
    at: tuple[int, int],
    page: PageFile,
) -> dict[str, Lines]:
    results, rows = opened.database, here.rows
    ids = [*rows.problem.id.tolist(), *rows.benchmark.id.tolist()]
    lines = {"hop": page.lines(map(encoded, node_hops(results, ids)))}
    if not here.compared:
        return lines
    if not isinstance(results, ResultDatabase):
        # A file of msprobe's own builder tells ways by its own rules.
        return lines | {"node/trace": page.lines(asked.of_nodes("/trace", ids))}
    along = passed_along(results, here, followed(here))
    return lines | {
        "edge": page.lines(map(encoded, along)),
        "origins": page.lines([encoded(origins_of(results, here, at))]),
    }


def _one_line(text: bytes) -> bytes:
    """A text of any kind as one line: JSON as it is, a file as a JSON string."""
    return text if text[:1] in b"{[" and b"\n" not in text else encoded(text.decode("utf-8"))


def _head(title: str) -> str:
    shown = title.replace("&", "&amp;").replace("<", "&lt;")
    styles = (STATIC / STYLES).read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{shown}</title><style>{styles}</style></head>\n'
        '<body><div id="tb-graph-ascend"></div>\n'
    )


def _program() -> str:
    # What ends a script element may stand in a string of the program only.
    return (STATIC / PROGRAM).read_text("utf-8").replace("</script", "<\\/script")
