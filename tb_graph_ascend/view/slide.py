"""The answer as one picture of 1920 × 1080: the sentence, both sides around the cause, the legend.

SVG with text as text; the interface draws the same file into a PNG, and the report holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from builder import claim
from builder.claim_words import Language
from builder.dump.stack_frames import Frame, SourceLine, line_there, telling_frame
from builder.finding_certainty import certainty_told
from builder.reasons import (
    Heals,
    NonfiniteFirst,
    NonfiniteFollows,
    NonfiniteMade,
    Reason,
    sentence,
)
from builder.reasons.beginning_words import BEGINNINGS, Where, how_it_begins
from builder.reasons.first_reasons import is_fed
from builder.results.followers.named_causes import does_heal
from builder.results.followers.spread import DivergentShares, shares_of
from builder.results.reading import ReadsValues, Results
from builder.results.records import Finding, Node, Summary
from tb_graph_ascend.view.answer import Answer, Cause, Since
from tb_graph_ascend.view.diff.index import DiffIndex, Wanted, diff_index
from tb_graph_ascend.view.diff.window import DiffRow, RowSide, window_of, with_handed_on
from tb_graph_ascend.view.diff.words import Word
from tb_graph_ascend.view.module_path import OPTIMIZER, module_path, telling_end
from tb_graph_ascend.view.slide_text import (
    INK,
    QUIET,
    SANS,
    Style,
    fitting,
    text_line,
    width_of,
    wrapped,
)
from tb_graph_ascend.view.slide_words import WORDS, SlideWords, formats_worded

WIDTH, HEIGHT = 1920, 1080
_MARGIN, _TOP, _ROW = 96, 458, 50
_MOST_ROWS = 10
_LEFT, _GUTTER, _RIGHT = _MARGIN, 760, 1180
_INDENT = 26
_NAME = 40  # characters of a run's name that have room over its column
_BESIDE = ("problem", "benchmark")
_NUMBER = re.compile(r"-?\d+\.\d{4,}(e[+-]?\d+)?")
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_LINE, _ACCENT = "#d8dce2", "#b3261e"
# The ground and the line around what is named: what comes to the same result is no alarm.
_FRAMES: dict[Word, tuple[str, str]] = {
    "begins": ("#fdeceb", _ACCENT),
    "heals": ("#eceff3", QUIET),
}
_RAMP = ((0.0, (247, 246, 245)), (0.5, (240, 138, 120)), (1.0, (110, 14, 20)))


@dataclass(frozen=True, slots=True)
class _Subject:
    """The call that a picture is about: where it begins and is, what is told of it, how surely."""

    node: Node
    step: int
    rank: int
    begins: str
    where: str
    told: str
    frame: Frame | None
    there: SourceLine | None = None
    sure: str = ""
    heals: bool = False


def slide(
    database: Results,
    said: Answer,
    language: Language = "en",
    reason: str | None = None,
    since: Since | None = None,
    *,
    cause: Cause | None = None,
    also: str | None = None,
) -> str:
    """The picture of a cause, the first if none is given, or of what was compared without any.

    After manual pairs it is of where it begins `since`, but of a cause that is elsewhere if that
    is given. `reason` is what differs in words of that language; without it, it is told in
    English. `also` is what may be a further cause, in such words too.
    """
    words, summary = WORDS[language], database.summary()
    if since is not None and cause is not None and not _is_at(cause, since):
        since = None
    cause = cause or next(iter(said.causes), None)
    place = _place_of(cause, since)
    index = None if place is None else diff_index(database, *place)
    subject = None
    if index is not None and since is not None:
        subject = _measured(since, language, reason)
    elif index is not None and cause is not None:
        sentences = _sentences(cause.finding, language, whole=said.claim.code == "heals")
        subject = _named(cause, language, reason, shares_of(index.followers), sentences)
    if subject is not None and also:
        subject = replace(subject, where=f"{subject.where} · {also}")
    alarms = subject is not None and not subject.heals
    parts = [
        *_frame(_ACCENT if alarms else QUIET),
        *_title(said, since, subject, language),
        *_legend(summary, words),
    ]
    if index is not None and subject is not None:
        parts += _rows(_around(database, index, subject.node.id), summary, words)
    return (
        f'<svg{_NAMESPACE} width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{SANS}">{"".join(parts)}</svg>'
    )


def _is_at(cause: Cause, since: Since) -> bool:
    """Whether a cause is where it begins since pairs were made by hand."""
    return since.node is not None and since.node.id in cause.nodes


def _place_of(cause: Cause | None, since: Since | None) -> tuple[int, int] | None:
    """The step and rank of what is shown; None where nothing is."""
    if since is not None:
        return (since.step, since.rank) if since.node is not None else None
    return None if cause is None else (cause.finding.step, cause.finding.rank)


def _named(
    cause: Cause,
    language: Language,
    reason: str | None,
    share: DivergentShares,
    sentences: tuple[str, str],
) -> _Subject:
    """What the diagnosis names."""
    finding, words = cause.finding, WORDS[language]
    told = reason or _told(finding, language) or finding.kind
    stacks = cause.stack or [], cause.stack_there or []
    frame = telling_frame(*stacks, line_alone=finding.line_alone)
    return _Subject(
        node=finding.node,
        step=finding.step,
        rank=finding.rank,
        begins=_begins(cause.spoken, frame, sentences, language),
        where=" · ".join(_where(cause, words, share)),
        told=told,
        frame=frame,
        there=line_there(*stacks, called_otherwise=finding.kind == "argument_differs"),
        sure=certainty_told(finding.certainty, language),
        heals=does_heal(finding),
    )


def _told(finding: Finding, language: Language) -> str:
    """What differs, in words; where NaN comes first with it, or that it heals."""
    return "; ".join(worded(reason, language) for reason in _telling(finding.reasons))


def _where(cause: Cause, words: SlideWords, share: DivergentShares) -> Iterator[str]:
    """Step and rank, how often, and how much of what diverges there goes back to it."""
    finding = cause.finding
    yield words.place.format(step=finding.step, rank=finding.rank)
    if cause.place_count > 1:
        seen = words.seen_on_one if len(cause.ranks) == 1 else words.seen
        counts = {"places": cause.place_count, "ranks": len(cause.ranks), "step": cause.first_step}
        yield seen.format(**counts)
    if share.divergent:
        places = set(cause.nodes)
        own = [one for one in share.causes if one.node in places]
        count, perhaps = sum(one.count for one in own), sum(one.perhaps for one in own)
        told = words.led_back_all if count == share.divergent > 1 else words.led_back
        guessed = words.led_back_perhaps.format(count=perhaps) if perhaps else ""
        if count or perhaps:
            yield told.format(count=count, divergent=share.divergent) + guessed


def _measured(since: Since, language: Language, reason: str | None) -> _Subject | None:
    """What differs first by the measures alone; None where nothing does."""
    if since.node is None:
        return None
    words = WORDS[language]
    place = words.place.format(step=since.step, rank=since.rank)
    stacks = since.stack or [], since.stack_there or []
    frame = telling_frame(*stacks, line_alone=since.line_alone)
    return _Subject(
        node=since.node,
        step=since.step,
        rank=since.rank,
        begins=_begins(since.spoken, frame, (words.since, words.since_in_optimizer), language),
        where=f"{place} · {words.not_diagnosed}",
        told=reason or words.since_differs,
        frame=frame,
    )


def inline(svg: str) -> str:
    """The picture as a part of an HTML page, where it needs no name space."""
    return svg.replace(_NAMESPACE, "", 1)


def worded(reason: Reason, language: Language, *, below: Sequence[Reason] = ()) -> str:
    """A reason in words, as it is said `below` others of its finding, its numbers with four digits.

    Those of two runs beside each other have as many as their sentence gives them.
    """
    texts = {k: v for k, v in msgspec.structs.asdict(reason).items() if isinstance(v, str)}
    long = {k: v for k, v in texts.items() if k not in _BESIDE and _NUMBER.fullmatch(v)}
    short = {k: f"{float(number):.4g}" for k, number in long.items()}
    return sentence(msgspec.structs.replace(reason, **short), language, below=below)


def headline(said: Answer, language: Language) -> str:
    """The sentence of an answer without a cause: too little is shared, or what may be claimed."""
    if not said.certain and said.claim.code != "nothing":
        share = int(100 * (said.coverage.share or 0))
        return WORDS[language].few_shared.format(share=share)
    told = claim.headline(said.claim, language=language)
    return told[:1].upper() + told[1:]


def _around(database: ReadsValues, index: DiffIndex, node: int) -> list[DiffRow]:
    """The rows of the interface around a node, with all that is open for it."""
    window = window_of(index, Wanted("", (node,), None), 0, 1, node)
    wanted = Wanted(window.opened, (node,), None)
    first = min((window.found or 0) - _MOST_ROWS // 2, window.total - _MOST_ROWS)
    around = window_of(index, wanted, max(0, first), _MOST_ROWS, None)
    return with_handed_on(around, database).rows


def _frame(edge: str) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield f'<rect width="16" height="{HEIGHT}" fill="{edge}"/>'


def _title(
    said: Answer, since: Since | None, subject: _Subject | None, language: Language
) -> Iterator[str]:
    words = WORDS[language]
    if subject is None:
        yield from _nothing_named(said, since, language)
        return
    yield text_line(_MARGIN, 120, subject.begins, fitting(subject.begins, 60, 46))
    yield text_line(_MARGIN, 172, subject.where, fitting(subject.where, 30, 96, quiet=True))
    # How sure it is has a line of its own, so that what is long before it never cuts it off.
    sure = [subject.sure] if subject.sure else []
    lines = [*wrapped(f"{_called(subject.node, words)}: {subject.told}", 96, 3 - len(sure)), *sure]
    for number, line in enumerate(lines):
        yield text_line(_MARGIN, 236 + 42 * number, line, Style(32, most=98))
    yield from _source(subject, words, 236 + 42 * len(lines), apart=len(lines) <= 2)


def _nothing_named(said: Answer, since: Since | None, language: Language) -> Iterator[str]:
    words, coverage = WORDS[language], said.coverage
    told = words.compared.format(
        matched=coverage.matched,
        pairs=coverage.pairs,
        unmatched=coverage.unmatched_problem + coverage.unmatched_benchmark,
        failed=len(coverage.failed),
    )
    title = headline(said, language) if since is None else claim.since_mapping(language)
    yield text_line(_MARGIN, 130, title, fitting(title, 60, 46))
    yield text_line(_MARGIN, 210, told, Style(32, most=104))
    if said.divergent and said.worst is not None:
        told = words.worst.format(
            divergent=said.divergent, threshold=said.threshold, worst=said.worst
        )
        yield text_line(_MARGIN, 270, told, Style(32, most=104))
        return
    lines = claim.evidence_told(said.claim, language)
    if said.extent is not None and said.extent.formats is not None:
        lines.append(formats_worded(said.extent.formats, words))
    rows = [row for line in lines for row in wrapped(line, 104)]
    for number, row in enumerate(rows):
        yield text_line(_MARGIN, 270 + 42 * number, row, Style(32, most=106))


def _telling(reasons: Sequence[Reason]) -> list[Reason]:
    """What differs, and where NaN comes first, which people see of a run; or that it heals."""
    told = (NonfiniteMade, NonfiniteFirst, NonfiniteFollows, Heals)
    others = [r for r in reasons[1:] if isinstance(r, told)]
    return [*reasons[:1], *others[:1]]


def _sentences(finding: Finding, language: Language, *, whole: bool) -> tuple[str, str]:
    """Of a place, and of what the optimizer does; or that the result is one, of the `whole`."""
    if does_heal(finding):
        said = claim.healing(language, whole=whole)
        return said, said
    node = finding.node
    how = how_it_begins(is_fed=is_fed(finding.kind, finding.reasons), is_call=node.kind == "api")

    def told(where: Where) -> str:
        text: str = getattr(BEGINNINGS[f"{how}.{where}"], language)
        return text.replace("{call}", _call(node)) if how == "before_call" else text

    runs_backward = node.direction == "backward" or node.recomputed
    return told("backward" if runs_backward else "module"), told("optimizer")


def _begins(
    module: str | None, frame: Frame | None, words: tuple[str, str], language: Language
) -> str:
    """The words for a module or a place in the script, and for what the optimizer does."""
    inside, in_optimizer = words
    if module == OPTIMIZER:
        return in_optimizer
    if module is None:
        told = ("", "") if frame is None else (frame.line, frame.function)
        module = claim.script_place(*told, language)
    return inside.format(module=module)


def _source(subject: _Subject, words: SlideWords, y: int, *, apart: bool) -> Iterator[str]:
    """The line of code and where it stands: below each other where there is room for both.

    Beside the place the benchmark's line, where that tells something.
    """
    frame = subject.frame
    if frame is None:
        return
    quiet = Style(26, colour=QUIET, mono=True, most=100)
    place = words.source.format(line=frame.line, function=frame.function)
    if apart and subject.there is not None:
        place += f"   {words.benchmark}: {subject.there.code}"
    if apart:
        yield text_line(_MARGIN, y + 8, place, quiet)
        yield text_line(_MARGIN, y + 44, frame.code, Style(28, mono=True, most=98))
    else:
        yield text_line(_MARGIN, y + 8, f"{place}   {frame.code}", quiet)


def _rows(rows: Sequence[DiffRow], summary: Summary, words: SlideWords) -> Iterator[str]:
    runs = (_LEFT, words.problem, summary.problem), (_RIGHT, words.benchmark, summary.benchmark)
    for x, head, run in runs:
        yield text_line(x, _TOP - 52, head, Style(24, colour=QUIET, bold=True))
        yield text_line(x, _TOP - 18, _run_name(run), Style(26, bold=True, most=_NAME))
    least = min((row.depth for row in rows), default=0)
    for number, row in enumerate(rows):
        top = _TOP + number * _ROW
        cause = row.word in _FRAMES and not row.inside
        if cause:
            fill, stroke = _FRAMES[row.word]
            yield (
                f'<rect x="{_LEFT - 20}" y="{top}" width="{WIDTH - 2 * _LEFT + 40}" '
                f'height="{_ROW}" fill="{fill}" stroke="{stroke}" stroke-width="3" rx="6"/>'
            )
        else:  # nor below the one before: the frame of a cause has lines of its own
            yield _line(top + _ROW)
        indent = min(row.depth - least, 6) * _INDENT
        for x, side in ((_LEFT, row.problem), (_RIGHT, row.benchmark)):
            name = _titled(row, side, words) if side is not None else words.gap
            style = Style(
                28 if side is not None else 24,
                colour=INK if side is not None else QUIET,
                bold=cause or (side is not None and row.kind != "api"),
                most=36 - indent // 14,
            )
            yield text_line(x + indent, top + 34, name, style)
        yield from _gutter(row, top, words, cause=cause)


def _titled(row: DiffRow, side: RowSide, words: SlideWords) -> str:
    if row.kind == "collection":
        return words.calls.format(count=row.children)
    back = "  ↩" if row.direction == "backward" else ""
    if row.fold:
        return f"{side.title} … {side.until}  × {abs(row.fold)}{back}"
    return side.title + (f" #{side.call}" if side.call is not None else "") + back


def _gutter(row: DiffRow, top: int, words: SlideWords, *, cause: bool) -> Iterator[str]:
    for x, score in ((_GUTTER, row.input_score), (_GUTTER + 122, row.score)):
        fill = _colour(score) if score is not None else "none"
        ink = "#ffffff" if (score or 0.0) > 0.6 else INK
        yield f'<rect x="{x}" y="{top + 9}" width="90" height="32" rx="5" fill="{fill}"/>'
        shown = "–" if score is None else f"{score:.2f}"
        yield text_line(x + 45, top + 33, shown, Style(24, colour=ink, anchor="middle"))
    yield text_line(_GUTTER + 106, top + 32, "→", Style(24, colour=QUIET, anchor="middle"))
    word = "" if row.open and not cause else words.of(row.word)
    colour = _FRAMES[row.word][1] if cause else QUIET
    yield text_line(_GUTTER + 232, top + 33, word, Style(24, colour=colour, bold=cause, most=14))


def _legend(summary: Summary, words: SlideWords) -> Iterator[str]:
    y = HEIGHT - 76
    yield text_line(_MARGIN, y + 22, f"{words.score}  0", Style(24, colour=QUIET))
    for step in range(50):
        fill = _colour(step / 49)
        x = _MARGIN + 100 + step * 6
        yield f'<rect x="{x}" y="{y}" width="6.5" height="28" fill="{fill}"/>'
    yield text_line(_MARGIN + 412, y + 22, words.scale, Style(24, colour=QUIET))
    built = words.built.format(date=summary.created[:10], version=summary.tool_version)
    yield text_line(WIDTH - _MARGIN, y + 22, built, Style(24, colour=QUIET, anchor="end"))


def _run_name(path: str | None) -> str:
    """The end of a path tells runs apart: as much of it as has room."""
    parts = [part for part in re.split(r"[\\/]", path or "") if part]
    ends = ("/".join(parts[-most:]) for most in (3, 2))
    return next((end for end in ends if width_of(end) <= _NAME), "/".join(parts[-1:]))


def _called(node: Node, words: SlideWords) -> str:
    return _call(node) + (f" ↩ {words.backward}" if node.direction == "backward" else "")


def _call(node: Node) -> str:
    """A call by its name and number, a module by the end of its path."""
    number = node.name.rsplit(".", 2)
    call = next((part for part in number[1:] if part.isdigit()), None)
    bare = node.label.isdigit()
    label = telling_end(module_path(node.name) or node.label) if bare else node.label
    return label + (f" #{call}" if call is not None and node.kind == "api" else "")


def _colour(score: float) -> str:
    upper = next(i for i, (stop, _) in enumerate(_RAMP) if score <= stop or stop == 1.0)
    high, low = _RAMP[upper], _RAMP[max(0, upper - 1)]
    share = (score - low[0]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
    mixed = (round(a + (b - a) * min(1.0, share)) for a, b in zip(low[1], high[1]))
    return f"rgb({','.join(map(str, mixed))})"


def _line(y: int) -> str:
    return f'<path d="M{_LEFT} {y}H{WIDTH - _LEFT}" stroke="{_LINE}"/>'
