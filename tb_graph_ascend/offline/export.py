"""Writes a result as one page: the server's answers, what windows are worked of, the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from flask import Flask
from numpy.typing import NDArray

from builder.errors import DatabaseError, InputError
from builder.results.database import ResultDatabase
from builder.results.open_results import open_results
from builder.results.shards import holds_shards
from tb_graph_ascend.offline.listed_nodes import list_cells, node_cells
from tb_graph_ascend.offline.node_facts import (
    ValueLines,
    link_cells,
    node_facts,
    shown_values,
    stacks_of,
)
from tb_graph_ascend.offline.page_file import Column, Lines, PageFile, script_text
from tb_graph_ascend.offline.row_facts import (
    closed_rows,
    module_cells,
    row_cells,
    row_facts,
    seen_values,
    way_cells,
)
from tb_graph_ascend.offline.way_texts import followed, origins_of, passed_along
from tb_graph_ascend.offline.written import Handlers
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.app import create_app
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.messages import Databases
from tb_graph_ascend.server.workplace import STATIC, Settings, Workplace, make_workplace

VERSION = 2
PROGRAM, STYLES = "page.js", "page.css"
# A node has some values on each side.
_VALUES_AT_ONCE = 200


class PageError(InputError):
    """A page cannot be written; the text says why."""


class PairData(msgspec.Struct, frozen=True):
    """What the page has of a step and rank that can be shown."""

    step: int
    rank: int
    columns: dict[str, Column]
    lines: dict[str, Lines]
    tables: dict[str, Lines]


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
    told = results.nodes_by_id(ids)
    lines = {
        "seen": page.lines([encoded(seen_values(results, diff))]),
        "name": page.lines([encoded(nodes.names.names_once())]),
        "path": page.lines([encoded(nodes.modules.paths)]),
        "module": page.lines(
            [encoded([diff.modules.title, diff.modules.type_name, diff.modules.other])]
        ),
    }
    values = ValueLines(told)
    tables = {
        "row": page.table(closed),
        "fact": page.table(row_facts(results, diff, closed)),
        "node": page.table(told),
        "about": page.table(node_facts(results, told, values.of)),
    }
    compared = diff.followers.compared
    if isinstance(results, ResultDatabase):
        stacks, links = stacks_of(results, ids), results.links(*at)
        tables["values"] = page.table(shown_values(results, values), _VALUES_AT_ONCE)
        cells |= {"link": link_cells(links), "stack": {"id": np.array([*stacks], np.int64)}}
        lines["link path"] = page.lines([encoded(list(links.paths))])
        lines["stack"] = page.lines(map(encoded, stacks.values()))
        if holds_shards(results):
            lines["shards"] = page.lines(asked.of_nodes("/shards", values.first))
        if compared:
            along = passed_along(results, diff.followers, followed(diff.followers))
            tables["edge"] = page.table(along)
            lines["origins"] = page.lines([encoded(origins_of(results, diff.followers, at))])
    else:
        # A file of msprobe's own builder keeps values as text and tells ways by its own rules.
        for rest in ("", "/flow", "/across", *(["/trace"] if compared else [])):
            lines[f"answer{rest}"] = page.lines(asked.of_nodes(rest, ids))
    columns = {
        f"{group}.{name}": page.column(cell)
        for group, named in cells.items()
        for name, cell in named.items()
    }
    return PairData(*at, columns, lines, tables)


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
