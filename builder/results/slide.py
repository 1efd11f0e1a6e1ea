"""The answer as one picture of 1920 × 1080: the sentence, both sides around the cause, the legend.

SVG with text as text; the interface draws the same file into a PNG, and the report holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from builder.reasons import sentence
from builder.results.answer import Answer, Cause
from builder.results.reading import Results
from builder.results.records import Node
from builder.results.stack_frames import model_frame

WIDTH, HEIGHT = 1920, 1080
_MARGIN, _TOP, _ROW = 96, 430, 52
_MOST_ROWS = 9
_LEFT, _GUTTER, _RIGHT = _MARGIN, 800, 1120
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_INK, _QUIET, _LINE, _ACCENT = "#1b222d", "#59626f", "#d8dce2", "#b3261e"
_RAMP = ((0.0, (247, 246, 245)), (0.5, (240, 138, 120)), (1.0, (110, 14, 20)))


@dataclass(frozen=True, slots=True)
class _Row:
    """One line: the node of either side, and what stands between them."""

    problem: Node | None
    benchmark: Node | None
    cause: bool


def slide(database: Results, said: Answer) -> str:
    """The picture of the first cause, or of what was compared where nothing diverges."""
    parts = [*_frame(), *_title(said), *_legend()]
    if said.causes:
        parts += _rows(_around(database, said.causes[0]))
    return (
        f'<svg{_NAMESPACE} width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{_SANS}">{"".join(parts)}</svg>'
    )


def inline(svg: str) -> str:
    """The picture as a part of an HTML page, where it needs no name space."""
    return svg.replace(_NAMESPACE, "", 1)


def _around(database: Results, cause: Cause) -> list[_Row]:
    """The cause between its siblings, each beside its partner."""
    node = cause.finding.node
    if node.parent is None:
        return [_Row(node, None, cause=True)]
    first = max(0, node.position - _MOST_ROWS // 2)
    siblings = database.children(node.parent, first, _MOST_ROWS).children
    partners = database.nodes_by_id([n.match for n in siblings if n.match is not None])
    by_id = {partner.id: partner for partner in partners}
    rows = []
    for one in siblings:
        other = by_id.get(one.match) if one.match is not None else None
        ours, theirs = (one, other) if one.side == "problem" else (other, one)
        rows.append(_Row(ours, theirs, cause=one.id == node.id))
    return rows


def _frame() -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield f'<rect width="16" height="{HEIGHT}" fill="{_ACCENT}"/>'


def _title(said: Answer) -> Iterator[str]:
    if not said.causes:
        coverage = said.coverage
        yield _text(_MARGIN, 130, "Nothing diverges", _Style(60, bold=True))
        yield _text(
            _MARGIN,
            210,
            f"{coverage.matched} nodes compared in {coverage.pairs} steps and ranks; "
            f"{coverage.unmatched_problem + coverage.unmatched_benchmark} have no partner, "
            f"{len(coverage.failed)} steps and ranks failed",
            _Style(32, most=104),
        )
        return
    cause = said.causes[0]
    finding = cause.finding
    place = cause.module or "the top level"
    yield _text(_MARGIN, 120, f"It begins in {place}", _Style(60, bold=True, most=46))
    where = f"step {finding.step} · rank {finding.rank}"
    if cause.place_count > 1:
        where += f" · seen on {len(cause.ranks)} ranks, from step {cause.first_step}"
    yield _text(
        _MARGIN,
        172,
        f"{where} · {cause.followed_by} nodes follow",
        _Style(30, colour=_QUIET, most=96),
    )
    reason = sentence(dict(finding.reasons[0])) if finding.reasons else finding.kind
    yield _text(_MARGIN, 246, f"{_called(finding.node)}: {reason}", _Style(36, most=86))
    frame = model_frame(cause.stack or [])
    if frame is not None:
        yield _text(_MARGIN, 310, frame.place, _Style(26, colour=_QUIET, mono=True, most=100))
        yield _text(_MARGIN, 350, frame.code, _Style(28, mono=True, most=98))


def _rows(rows: Sequence[_Row]) -> Iterator[str]:
    yield _text(_LEFT, _TOP - 16, "PROBLEM", _Style(24, colour=_QUIET, bold=True))
    yield _text(_RIGHT, _TOP - 16, "BENCHMARK", _Style(24, colour=_QUIET, bold=True))
    for number, row in enumerate(rows):
        top = _TOP + number * _ROW
        if row.cause:
            yield (
                f'<rect x="{_LEFT - 20}" y="{top}" width="{WIDTH - 2 * _LEFT + 40}" '
                f'height="{_ROW}" fill="#fdeceb" stroke="{_ACCENT}" stroke-width="3" rx="6"/>'
            )
        yield _line(top + _ROW)
        for x, node in ((_LEFT, row.problem), (_RIGHT, row.benchmark)):
            name = _called(node) if node is not None else "not called here"
            colour = _INK if node is not None else _QUIET
            yield _text(
                x, top + 35, name, _Style(28, colour=colour, mono=True, bold=row.cause, most=40)
            )
        yield from _gutter(row, top)


def _gutter(row: _Row, top: int) -> Iterator[str]:
    scored = row.problem or row.benchmark
    for x, score in (
        (_GUTTER, scored.input_score if scored is not None else None),
        (_GUTTER + 130, scored.score if scored is not None else None),
    ):
        fill = _colour(score) if score is not None else "none"
        ink = "#ffffff" if (score or 0.0) > 0.6 else _INK
        yield f'<rect x="{x}" y="{top + 9}" width="100" height="34" rx="5" fill="{fill}"/>'
        shown = "–" if score is None else f"{score:.2f}"
        yield _text(x + 50, top + 34, shown, _Style(24, colour=ink, anchor="middle"))
    yield _text(_GUTTER + 115, top + 33, "→", _Style(24, colour=_QUIET, anchor="middle"))
    if row.cause:
        yield _text(_GUTTER + 245, top + 34, "▸", _Style(26, colour=_ACCENT, bold=True))


def _legend() -> Iterator[str]:
    y = HEIGHT - 76
    yield _text(_MARGIN, y + 22, "score  0", _Style(24, colour=_QUIET))
    for step in range(50):
        fill = _colour(step / 49)
        x = _MARGIN + 100 + step * 6
        yield f'<rect x="{x}" y="{y}" width="6.5" height="28" fill="{fill}"/>'
    yield _text(
        _MARGIN + 412, y + 22, "1 = wholly different;  inputs → output", _Style(24, colour=_QUIET)
    )


def _called(node: Node) -> str:
    number = node.name.rsplit(".", 2)
    call = next((part for part in number[1:] if part.isdigit()), None)
    passed = " backward" if node.direction == "backward" else ""
    return node.label + (f" #{call}" if call is not None and node.kind == "api" else "") + passed


def _colour(score: float) -> str:
    upper = next(i for i, (stop, _) in enumerate(_RAMP) if score <= stop or stop == 1.0)
    high, low = _RAMP[upper], _RAMP[max(0, upper - 1)]
    share = (score - low[0]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
    mixed = (round(a + (b - a) * min(1.0, share)) for a, b in zip(low[1], high[1]))
    return f"rgb({','.join(map(str, mixed))})"


def _line(y: int) -> str:
    return f'<path d="M{_LEFT} {y}H{WIDTH - _LEFT}" stroke="{_LINE}"/>'


@dataclass(frozen=True, slots=True)
class _Style:
    """How a line of text looks; `most` characters of it have room."""

    size: int
    colour: str = _INK
    bold: bool = False
    mono: bool = False
    anchor: str = "start"
    most: int = 200


def _text(x: float, y: float, text: str, style: _Style) -> str:
    """A line of text, cut where it would leave its place."""
    cut = text if len(text) <= style.most else text[: style.most - 1] + "…"
    weight = ' font-weight="700"' if style.bold else ""
    family = f' font-family="{_MONO}"' if style.mono else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{style.size}" fill="{style.colour}" '
        f'text-anchor="{style.anchor}"{weight}{family} '
        f'xml:space="preserve">{escape(_printable(cut))}</text>'
    )


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
