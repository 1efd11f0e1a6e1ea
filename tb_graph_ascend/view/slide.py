"""The answer as one picture of 1920 × 1080: the sentence, both sides around the cause, the legend.

SVG with text as text; the interface draws the same file into a PNG, and the report holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

from builder.reasons import sentence
from builder.results.reading import Results
from builder.results.records import Finding, Node, Reason, Summary
from builder.results.stack_frames import model_frame
from tb_graph_ascend.view.answer import Answer, Cause, Since
from tb_graph_ascend.view.diff.index import DiffIndex, Wanted, diff_index
from tb_graph_ascend.view.diff.shares import DivergentShares, shares_of
from tb_graph_ascend.view.diff.window import DiffRow, RowSide, window_of
from tb_graph_ascend.view.module_path import OPTIMIZER
from tb_graph_ascend.view.slide_words import WORDS, Language, SlideWords, apart_told

WIDTH, HEIGHT = 1920, 1080
_MARGIN, _TOP, _ROW = 96, 458, 50
_MOST_ROWS = 10
_LEFT, _GUTTER, _RIGHT = _MARGIN, 760, 1180
_INDENT = 26
_NAME = 40  # characters of a run's name that have room over its column
_NUMBER = re.compile(r"-?\d+\.\d{4,}(e[+-]?\d+)?")
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_SANS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', "
    "'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_INK, _QUIET, _LINE, _ACCENT = "#1b222d", "#59626f", "#d8dce2", "#b3261e"
_RAMP = ((0.0, (247, 246, 245)), (0.5, (240, 138, 120)), (1.0, (110, 14, 20)))


@dataclass(frozen=True, slots=True)
class _Subject:
    """The call that a picture is about: where it begins, where that is, what is told of it."""

    node: Node
    step: int
    rank: int
    begins: str
    where: str
    told: str
    stack: Sequence[str]


def slide(
    database: Results,
    said: Answer,
    language: Language = "en",
    reason: str | None = None,
    since: Since | None = None,
) -> str:
    """The picture of the first cause, or of what was compared where nothing diverges.

    After manual pairs it is of where it begins `since`. `reason` is what differs in words of that
    language; without it, it is told in English.
    """
    words, summary = WORDS[language], database.summary()
    place = _place_of(said, since)
    index = None if place is None else diff_index(database, *place)
    subject = None
    if index is not None and since is not None:
        subject = _measured(since, words, reason)
    elif index is not None:
        subject = _named(said.causes[0], words, reason, shares_of(index))
    parts = [*_frame(), *_title(said, since, subject, words), *_legend(summary, words)]
    if index is not None and subject is not None:
        parts += _rows(_around(index, subject.node.id), summary, words)
    return (
        f'<svg{_NAMESPACE} width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{_SANS}">{"".join(parts)}</svg>'
    )


def _place_of(said: Answer, since: Since | None) -> tuple[int, int] | None:
    """The step and rank of what is shown; None where nothing is."""
    if since is not None:
        return (since.step, since.rank) if since.node is not None else None
    first = next(iter(said.causes), None)
    return None if first is None else (first.finding.step, first.finding.rank)


def _named(cause: Cause, words: SlideWords, reason: str | None, share: DivergentShares) -> _Subject:
    """What the diagnosis names."""
    finding = cause.finding
    return _Subject(
        node=finding.node,
        step=finding.step,
        rank=finding.rank,
        begins=_begins(cause.module, _sentences(finding, words)),
        where=" · ".join(_where(cause, words, share)),
        told=reason or "; ".join(map(worded, _telling(finding.reasons))) or finding.kind,
        stack=cause.stack or [],
    )


def _where(cause: Cause, words: SlideWords, share: DivergentShares) -> Iterator[str]:
    """Step and rank, how often, and how much of what diverges there goes back to it."""
    finding = cause.finding
    yield words.place.format(step=finding.step, rank=finding.rank)
    if cause.place_count > 1:
        seen = words.seen_on_one if len(cause.ranks) == 1 else words.seen
        counts = {"places": cause.place_count, "ranks": len(cause.ranks), "step": cause.first_step}
        yield seen.format(**counts)
    if share.divergent:
        places = {place.node for place in cause.places}
        count = sum(one.count for one in share.causes if one.node in places)
        yield words.led_back.format(count=count, divergent=share.divergent)


def _measured(since: Since, words: SlideWords, reason: str | None) -> _Subject | None:
    """What differs first by the measures alone; None where nothing does."""
    if since.node is None:
        return None
    place = words.place.format(step=since.step, rank=since.rank)
    return _Subject(
        node=since.node,
        step=since.step,
        rank=since.rank,
        begins=_begins(since.module, (words.since, words.since_at_top, words.since_in_optimizer)),
        where=f"{place} · {words.not_diagnosed}",
        told=reason or words.since_differs,
        stack=since.stack or [],
    )


def inline(svg: str) -> str:
    """The picture as a part of an HTML page, where it needs no name space."""
    return svg.replace(_NAMESPACE, "", 1)


def worded(reason: Reason) -> str:
    """A reason in English, its numbers with four digits, or with as many as tell them apart."""
    long = {k: str(v) for k, v in reason.items() if _NUMBER.fullmatch(str(v))}
    apart = len(set(long.values()))
    digits = next((d for d in range(4, 17) if len(_rounded(long, d)) == apart), 17)
    # A number stays one, for some sentences say themselves how many digits they want.
    short = {k: _brief(v, digits, as_text=isinstance(reason[k], str)) for k, v in long.items()}
    return sentence({**reason, **short})


def _brief(number: str, digits: int, *, as_text: bool) -> str | float:
    text = f"{float(number):.{digits}g}"
    return text if as_text else float(text)


def _rounded(numbers: dict[str, str], digits: int) -> set[str]:
    return {f"{float(number):.{digits}g}" for number in numbers.values()}


def headline(said: Answer, words: SlideWords) -> str:
    """The sentence of an answer without a cause: too little is shared, none is named, or agreed."""
    if not said.certain:
        return words.few_shared.format(share=int(100 * (said.coverage.share or 0)))
    if said.worst is None:
        return words.nothing_compared
    if said.divergent:
        return words.not_named
    return words.agrees if said.coverage.is_whole else words.nothing


def _around(index: DiffIndex, node: int) -> list[DiffRow]:
    """The rows of the interface around a node, with all that is open for it."""
    window = window_of(index, Wanted("", (node,), None), 0, 1, node)
    wanted = Wanted(window.opened, (node,), None)
    first = min((window.found or 0) - _MOST_ROWS // 2, window.total - _MOST_ROWS)
    return window_of(index, wanted, max(0, first), _MOST_ROWS, None).rows


def _frame() -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield f'<rect width="16" height="{HEIGHT}" fill="{_ACCENT}"/>'


def _title(
    said: Answer, since: Since | None, subject: _Subject | None, words: SlideWords
) -> Iterator[str]:
    if subject is None:
        yield from _nothing_named(said, since, words)
        return
    yield _text(_MARGIN, 120, subject.begins, _fitting(subject.begins, 60, 46))
    yield _text(_MARGIN, 172, subject.where, _fitting(subject.where, 30, 96, quiet=True))
    lines = _wrapped(f"{_called(subject.node, words)}: {subject.told}", 96)
    for number, line in enumerate(lines):
        yield _text(_MARGIN, 236 + 42 * number, line, _Style(32, most=98))
    yield from _source(subject.stack, 236 + 42 * len(lines), apart=len(lines) <= 2)


def _nothing_named(said: Answer, since: Since | None, words: SlideWords) -> Iterator[str]:
    coverage = said.coverage
    told = words.compared.format(
        matched=coverage.matched,
        pairs=coverage.pairs,
        unmatched=coverage.unmatched_problem + coverage.unmatched_benchmark,
        failed=len(coverage.failed),
    )
    title = headline(said, words) if since is None else words.since_nowhere
    yield _text(_MARGIN, 130, title, _Style(60, bold=True, most=46))
    yield _text(_MARGIN, 210, told, _Style(32, most=104))
    if said.divergent and said.worst is not None:
        told = words.worst.format(
            divergent=said.divergent, threshold=said.threshold, worst=said.worst
        )
        yield _text(_MARGIN, 270, told, _Style(32, most=104))
    if said.extent is not None:
        for number, line in enumerate(_wrapped(apart_told(said.extent, words), 104)):
            yield _text(_MARGIN, 270 + 42 * number, line, _Style(32, most=106))


def _telling(reasons: Sequence[Reason]) -> list[Reason]:
    """What differs, and where NaN comes first, which people see of a run; or that it heals."""
    others = [r for r in reasons[1:] if str(r["code"]).startswith(("nonfinite_", "heals"))]
    return [*reasons[:1], *others[:1]]


def _sentences(finding: Finding, words: SlideWords) -> tuple[str, str, str]:
    """Of a cause that heals, which none in the optimizer does, that the result is the same."""
    if any(reason["code"] == "heals" for reason in finding.reasons):
        return words.heals, words.heals_at_top, words.heals_at_top
    return words.begins, words.begins_at_top, words.begins_in_optimizer


def _begins(module: str | None, words: tuple[str, str, str]) -> str:
    """The words for a module, for none, and for what the optimizer does."""
    inside, at_top, in_optimizer = words
    if module is None:
        return at_top
    return in_optimizer if module == OPTIMIZER else inside.format(module=module)


def _source(stack: Sequence[str], y: int, *, apart: bool) -> Iterator[str]:
    """The line of code and where it stands: below each other where there is room for both."""
    frame = model_frame(stack)
    if frame is None:
        return
    quiet = _Style(26, colour=_QUIET, mono=True, most=100)
    if apart:
        yield _text(_MARGIN, y + 8, frame.place, quiet)
        yield _text(_MARGIN, y + 44, frame.code, _Style(28, mono=True, most=98))
    else:
        yield _text(_MARGIN, y + 8, f"{frame.place}   {frame.code}", quiet)


def _rows(rows: Sequence[DiffRow], summary: Summary, words: SlideWords) -> Iterator[str]:
    runs = (_LEFT, words.problem, summary.problem), (_RIGHT, words.benchmark, summary.benchmark)
    for x, head, run in runs:
        yield _text(x, _TOP - 52, head, _Style(24, colour=_QUIET, bold=True))
        yield _text(x, _TOP - 18, _run_name(run), _Style(26, bold=True, most=_NAME))
    least = min((row.depth for row in rows), default=0)
    for number, row in enumerate(rows):
        top = _TOP + number * _ROW
        cause = row.word == "begins" and not row.inside
        if cause:
            yield (
                f'<rect x="{_LEFT - 20}" y="{top}" width="{WIDTH - 2 * _LEFT + 40}" '
                f'height="{_ROW}" fill="#fdeceb" stroke="{_ACCENT}" stroke-width="3" rx="6"/>'
            )
        yield _line(top + _ROW)
        indent = min(row.depth - least, 6) * _INDENT
        for x, side in ((_LEFT, row.problem), (_RIGHT, row.benchmark)):
            name = _titled(row, side, words) if side is not None else words.gap
            style = _Style(
                28 if side is not None else 24,
                colour=_INK if side is not None else _QUIET,
                bold=cause or (side is not None and row.kind != "api"),
                most=36 - indent // 14,
            )
            yield _text(x + indent, top + 34, name, style)
        yield from _gutter(row, top, words, cause=cause)


def _titled(row: DiffRow, side: RowSide, words: SlideWords) -> str:
    if row.kind == "collection":
        return words.calls.format(count=row.children)
    if row.fold:
        return f"{side.title} … {side.until}  × {abs(row.fold)}"
    back = "  ↩" if row.direction == "backward" else ""
    return side.title + (f" #{side.call}" if side.call is not None else "") + back


def _gutter(row: DiffRow, top: int, words: SlideWords, *, cause: bool) -> Iterator[str]:
    for x, score in ((_GUTTER, row.input_score), (_GUTTER + 122, row.score)):
        fill = _colour(score) if score is not None else "none"
        ink = "#ffffff" if (score or 0.0) > 0.6 else _INK
        yield f'<rect x="{x}" y="{top + 9}" width="90" height="32" rx="5" fill="{fill}"/>'
        shown = "–" if score is None else f"{score:.2f}"
        yield _text(x + 45, top + 33, shown, _Style(24, colour=ink, anchor="middle"))
    yield _text(_GUTTER + 106, top + 32, "→", _Style(24, colour=_QUIET, anchor="middle"))
    word = "" if row.open and not cause else words.of(row.word)
    colour = _ACCENT if cause else _QUIET
    yield _text(_GUTTER + 232, top + 33, word, _Style(24, colour=colour, bold=cause, most=14))


def _legend(summary: Summary, words: SlideWords) -> Iterator[str]:
    y = HEIGHT - 76
    yield _text(_MARGIN, y + 22, f"{words.score}  0", _Style(24, colour=_QUIET))
    for step in range(50):
        fill = _colour(step / 49)
        x = _MARGIN + 100 + step * 6
        yield f'<rect x="{x}" y="{y}" width="6.5" height="28" fill="{fill}"/>'
    yield _text(_MARGIN + 412, y + 22, words.scale, _Style(24, colour=_QUIET))
    built = words.built.format(date=summary.created[:10], version=summary.tool_version)
    yield _text(WIDTH - _MARGIN, y + 22, built, _Style(24, colour=_QUIET, anchor="end"))


def _run_name(path: str | None) -> str:
    """The end of a path tells runs apart: as much of it as has room."""
    parts = [part for part in re.split(r"[\\/]", path or "") if part]
    ends = ("/".join(parts[-most:]) for most in (3, 2))
    return next((end for end in ends if _width(end) <= _NAME), "/".join(parts[-1:]))


def _called(node: Node, words: SlideWords) -> str:
    number = node.name.rsplit(".", 2)
    call = next((part for part in number[1:] if part.isdigit()), None)
    passed = f" ↩ {words.backward}" if node.direction == "backward" else ""
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
    cut = _cut(text, style.most)
    weight = ' font-weight="700"' if style.bold else ""
    family = f' font-family="{_MONO}"' if style.mono else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{style.size}" fill="{style.colour}" '
        f'text-anchor="{style.anchor}"{weight}{family} '
        f'xml:space="preserve">{escape(_printable(cut))}</text>'
    )


def _fitting(text: str, largest: int, most: int, *, quiet: bool = False) -> _Style:
    """As large as leaves a long line whole, down to 34 of 60; `most` characters fit the largest."""
    size = max(34 * largest // 60, min(largest, largest * most // max(1, _width(text))))
    room = most * largest // size
    return _Style(size, colour=_QUIET if quiet else _INK, bold=not quiet, most=room)


def _width(text: str) -> int:
    """In characters; those of Chinese take the room of two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _wrapped(text: str, most: int, lines: int = 3) -> list[str]:
    """Lines broken between words; the last is cut where it is drawn."""
    first = _cut(text, most)
    if first == text or lines == 1:
        return [text]
    at = max(text.rfind(" ", 0, len(first)), 0)
    # Chinese breaks anywhere; a blank near the start would leave the line empty.
    at = at if at > len(first) // 2 else len(first) - 1
    return [text[:at], *_wrapped(text[at:].lstrip(), most, lines - 1)]


def _cut(text: str, most: int) -> str:
    """At most so many characters; those of Chinese take the room of two."""
    room = most
    for place, character in enumerate(text):
        room -= 2 if east_asian_width(character) in "WF" else 1
        if room < 0:
            return text[: max(0, place - 1)] + "…"
    return text


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
