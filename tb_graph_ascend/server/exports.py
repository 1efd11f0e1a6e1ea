"""Whole tables as a download, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from flask import Response, request

from builder.claim_words import Language
from builder.finding_certainty import certainty_told
from builder.match.manual_file import MappedPair
from builder.reasons import Reason, sentences
from builder.results.records import AcrossCell, Finding, Pair, ValuePair
from builder.tables.sheets import csv_text
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.errors import NotFoundError
from tb_graph_ascend.server.findings import FindingQuery
from tb_graph_ascend.server.messages import NodeRow
from tb_graph_ascend.server.node_table import FILE_SECONDS, TableHits, TableQuery, find_hits, table
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workbook import WORKBOOK, workbook
from tb_graph_ascend.server.workplace import Workplace
from tb_graph_ascend.view.answer import Answer, Cause
from tb_graph_ascend.view.html import html_report
from tb_graph_ascend.view.slide import slide

_MOST_ROWS = 1_000_000
Row = Mapping[str, Any]


class SlideQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The language of the slide; `reason` says in it what differs at its cause.

    `cause` is the node of the finding of that cause, the first without it. `also` says what may
    be a further one.
    """

    lang: Language = "en"
    reason: Annotated[str, msgspec.Meta(max_length=600)] = ""
    cause: int | None = None
    also: Annotated[str, msgspec.Meta(max_length=200)] = ""


def resource(place: Workplace) -> Resource:
    """Routes named `…/export/<table>.<csv or json>`."""
    routes = Resource("exports")

    @routes.route("/databases/<db>/export/pairs.<any(csv, json):form>", media_type=_ANY_FORM)
    def pairs(db: str, form: str) -> Response:
        """The matrix of steps and ranks."""
        rows = map(msgspec.structs.asdict, place.open(db).database.summary().pairs)
        return _download("pairs", form, list(rows), Pair.__struct_fields__)

    @routes.route(
        "/databases/<db>/export/findings.<any(csv, json):form>",
        query=FindingQuery,
        media_type=_ANY_FORM,
    )
    def findings(db: str, form: str, query: FindingQuery) -> Response:
        """The diagnosis, its reasons in words."""
        suspects = place.open(db).database.findings(query.step, query.rank).findings
        rows = [
            {
                **msgspec.structs.asdict(finding),
                "node": finding.node.name,
                "reasons": _sentences(finding.reasons),
                "certainty": certainty_told(finding.certainty),
            }
            for finding in suspects
        ]
        return _download("findings", form, rows, Finding.__struct_fields__)

    @routes.route("/databases/<db>/export/mappings.<any(csv, json):form>", media_type=_ANY_FORM)
    def mappings(db: str, form: str) -> Response:
        """The manual pairs."""
        opened = place.open(db)
        listed = place.manual.seen_by(request).strictly(opened.file, opened.built)
        rows = [msgspec.structs.asdict(pair) for pair in listed]
        return _download("mappings", form, rows, MappedPair.__struct_fields__)

    @routes.route(
        "/databases/<db>/export/nodes.<any(csv, json, xlsx):form>",
        query=TableQuery,
        media_type=_ANY_FORM,
    )
    def nodes(db: str, form: str, query: TableQuery) -> Response:
        """All rows of the nodes table that a query has."""
        opened = place.open(db)
        hits = find_hits(place.library, opened, query, FILE_SECONDS)
        rows = [_node_row(row) for row in table(opened, hits, 0, _MOST_ROWS).rows]
        missing = _missing(len(hits.ids), hits)
        if missing is None:
            return _download("nodes", form, rows, _NODE_COLUMNS)
        # A file is read long after its answer's header: it says itself that it is not whole.
        cut = dict.fromkeys(_NODE_COLUMNS) | {"name": missing}
        answer = _download("nodes", form, [*rows, cut], _NODE_COLUMNS)
        answer.headers["X-Rows-Missing"] = missing
        return answer

    @routes.route(
        "/databases/<db>/nodes/<int:node>/export/values.<any(csv, json):form>",
        media_type=_ANY_FORM,
    )
    def values(db: str, node: int, form: str) -> Response:
        """The values of a node on both sides, with all measures."""
        details = place.open(db).database.details(node)
        return _download("values", form, [_value_row(pair) for pair in details.values], ("role",))

    @routes.route(
        "/databases/<db>/nodes/<int:node>/export/across.<any(csv, json):form>",
        media_type=_ANY_FORM,
    )
    def across(db: str, node: int, form: str) -> Response:
        """The same node in every step and rank."""
        occurrences = place.open(db).database.across(node)
        rows = [msgspec.structs.asdict(cell) for cell in occurrences.cells]
        return _download("across", form, rows, AcrossCell.__struct_fields__)

    @routes.route("/databases/<db>/export/report.html", media_type="text/html")
    def report(db: str) -> Response:
        """The diagnosis as one self-contained page."""
        answer = Response(html_report(place.open(db).file.path), mimetype="text/html")
        return _as_file(answer, "report.html")

    @routes.route("/databases/<db>/export/slide.svg", query=SlideQuery, media_type="image/svg+xml")
    def one_slide(db: str, query: SlideQuery) -> Response:
        """The answer as one picture of 1920 × 1080, to be shown to others."""
        opened = place.open(db)
        said = place.library.answer(opened)
        picture = slide(
            opened.database,
            said,
            query.lang,
            query.reason or None,
            said.since,
            cause=_cause_at(said, query.cause),
            also=query.also or None,
        )
        return _as_file(Response(picture, mimetype="image/svg+xml"), "slide.svg")

    return routes


def _missing(found: int, hits: TableHits) -> str | None:
    """What a file of nodes lacks: rows above the limit, and steps and ranks there was no time for.

    None where it has all.
    """
    parts = []
    if found > _MOST_ROWS:
        parts.append(f"{found - _MOST_ROWS} more rows")
    if hits.searched < hits.pairs:
        parts.append(f"{hits.pairs - hits.searched} more steps and ranks, which were not searched")
    if not parts:
        return None
    return f"NOT WHOLE: {' and '.join(parts)}; export a step and rank at a time"


def _cause_at(said: Answer, node: int | None) -> Cause | None:
    if node is None:
        return None
    found = next((cause for cause in said.causes if cause.finding.node.id == node), None)
    if found is None:
        raise NotFoundError(f"no cause is node {node}", "take the node of a cause from the answer")
    return found


_ANY_FORM = "text/csv"
_NODE_COLUMNS = (
    "step",
    "rank",
    "module",
    "name",
    "benchmark name",
    "kind",
    "direction",
    "order",
    "score",
    "input score",
    "introduced",
    "msprobe verdict",
    "overflow",
    "matched by",
    "reasons",
)


def _node_row(row: NodeRow) -> Row:
    node, paired = row.node, row.node.match is not None
    theirs = row.partner if paired else node.name if node.side == "benchmark" else None
    cells = (
        row.step,
        row.rank,
        row.module,
        node.name if node.side == "problem" else row.partner,
        theirs,
        node.kind,
        node.direction,
        node.order,
        node.score,
        node.input_score,
        node.introduced,
        node.verdict,
        node.overflow,
        node.match_reason,
        _sentences(node.reasons),
    )
    return dict(zip(_NODE_COLUMNS, cells, strict=True))


def _value_row(pair: ValuePair) -> Row:
    row: dict[str, Any] = {"role": pair.role, "path": pair.path}
    for side in ("problem", "benchmark"):
        value = getattr(pair, side)
        known = msgspec.structs.asdict(value) if value is not None else {}
        for name in ("type", "dtype", "shape", "max", "min", "mean", "norm", "requires_grad"):
            row[f"{side} {name}"] = known.get(name)
    row |= {"score": pair.score, "relative error": pair.error}
    return row | pair.measures | {"differs": ", ".join(pair.differs)}


def _sentences(reasons: Sequence[Reason]) -> str:
    return "; ".join(sentences(reasons))


def _download(name: str, form: str, rows: Sequence[Row], columns: Sequence[str]) -> Response:
    """A table as a file; `columns` come first, and stand there even without rows."""
    if form == "json":
        answer = Response(encoded(rows), mimetype="application/json")
    elif form == "xlsx":
        heads = _columns(rows, columns)
        cells = ([row.get(head) for head in heads] for row in rows)
        answer = Response(workbook(name, heads, cells), mimetype=WORKBOOK)
    else:
        answer = Response(_csv(rows, columns), mimetype="text/csv")
    return _as_file(answer, f"{name}.{form}")


def _as_file(answer: Response, name: str) -> Response:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _csv(rows: Sequence[Row], first: Sequence[str]) -> str:
    columns = _columns(rows, first)
    return csv_text(columns, ([row.get(name) for name in columns] for row in rows))


def _columns(rows: Sequence[Row], first: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *(name for row in rows for name in row)]))
