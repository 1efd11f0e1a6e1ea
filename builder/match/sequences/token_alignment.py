"""Which token of one run is which of the other's, told by the ids that either side was fed.

One run (a trainer) has whole sequences in few forward passes; the other (an engine) may cut them up
over many, in another order and behind one another. Its rows are followed request by request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
# How many ways of cutting one forward pass into requests are tried. A wrong cut is seen by its next
# token but for the chance that two tokens are equal, so few are ever needed.
_TRIALS = 20_000


@dataclass(frozen=True, slots=True)
class Forward:
    """The ids of one forward pass, row by row, and their positions where those are recorded.

    `shape` is that of the ids: of two dimensions, batch and sequence.
    """

    ids: Integers
    shape: tuple[int, ...]
    positions: Integers | None = None

    def lines(self) -> list[range]:
        """The rows that are known to be of one sequence; a single range where nothing cuts them."""
        if len(self.shape) < 2 or 1 in self.shape[-2:]:
            return [range(len(self.ids))]
        length = self.shape[-1]
        return [range(start, start + length) for start in range(0, len(self.ids), length)]

    @property
    def is_padded(self) -> bool:
        """Whether its sequences stand in lines of one length."""
        return len(self.lines()) > 1


Row = tuple[int, int]  # the number of the forward pass, and the row in it


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that both runs computed, in the order in which the cut run did.

    `request` numbers the sequences of the whole run, `position` counts in each from its first token
    on; `whole` and `cut` are the rows (forward pass, row) of the tokens; `ends` are the last rows
    of each request in each forward pass of the cut run. `left` counts rows of the cut run that no
    sequence of the other has, padding left out.
    """

    request: Integers
    position: Integers
    whole: Integers
    cut: Integers
    ends: tuple[tuple[int, ...], ...]
    left: int


@dataclass(slots=True)
class _Strand:
    """A sequence of the whole run: its ids and where each of them stands.

    `starts` are where its first token may be: behind padding, or anywhere in a packed line;
    `doubtful` are further ones, for where nothing fits those. The first `padding` ids are none of
    its tokens; it has `stop` of them, padding behind them left out.
    """

    ids: Integers
    rows: list[Row]
    starts: Sequence[int]
    doubtful: Sequence[int] = ()
    padding: int = 0
    stop: int = 0


# A strand, where the request starts in it, and its next token.
_Candidate = tuple[int, int, int]


@dataclass(slots=True)
class _Request:
    """A request of the cut run as far as it was followed: what it may be, and its rows."""

    candidates: list[_Candidate]
    length: int
    rows: list[tuple[Row, int]] = field(default_factory=list)  # with their positions


@dataclass(frozen=True, slots=True)
class _Segment:
    """Rows of one forward pass that are of one request, and what that may be behind them."""

    request: _Request | None
    first: int
    rows: range
    candidates: list[_Candidate]


def align(whole: Sequence[Forward], cut: Sequence[Forward]) -> Tokens:
    """Follow the requests of `cut` through its forward passes, and find them in `whole`."""
    strands = [strand for n, forward in enumerate(whole) for strand in _strands(n, forward)]
    follower = _Follower(strands)
    for number, forward in enumerate(cut):
        follower.follow(number, forward)
    return follower.tokens()


# --- the whole run --------------------------------------------------------------------------------


def _strands(number: int, forward: Forward) -> Iterator[_Strand]:
    lines = forward.lines()
    if not forward.is_padded and forward.positions is not None:
        lines = list(_runs(forward.positions))
    padding = _Padding(forward, lines) if forward.is_padded else None
    for line in lines:
        ids = forward.ids[line.start : line.stop]
        rows = [(number, row) for row in line]
        if padding is not None:
            yield padding.strand(ids, rows)
        else:
            starts = [0] if forward.positions is not None else list(range(len(ids)))
            yield _Strand(ids, rows, starts, stop=len(ids))


class _Padding:
    """Where a batch has its padding, and which id that is: the one that is repeated most there."""

    def __init__(self, forward: Forward, lines: list[range]) -> None:
        ids = [forward.ids[line.start : line.stop] for line in lines]
        front, self._front_id = max((_repeated(line), int(line[0])) for line in ids)
        back, self._back_id = max((_repeated(line[::-1]), int(line[-1])) for line in ids)
        self._is_in_front = front > 1
        self._is_behind = back > 1 and not self._is_in_front

    def strand(self, ids: Integers, rows: list[Row]) -> _Strand:
        """A line as a sequence. Where one id alone may be padding, it is doubtful."""
        if self._is_behind:
            # Nobody feeds an engine what follows the last token, so one that pads is not missed.
            stop = len(ids) - (_repeated(ids[::-1]) if ids[-1] == self._back_id else 0)
            return _Strand(ids[:stop], rows[:stop], [0], stop=stop)
        front = _repeated(ids)
        if not self._is_in_front:
            return _Strand(ids, rows, [0], [front], stop=len(ids))
        if ids[0] != self._front_id:
            return _Strand(ids, rows, [0], stop=len(ids))
        # The first token may be the id that also pads.
        return _Strand(ids, rows, [front, front - 1, 0], range(1, front - 1), front, len(ids))


def _repeated(ids: Integers) -> int:
    """How many equal ids a line begins with."""
    return _behind_padding(ids)[-1]


def _runs(positions: Integers) -> Iterator[range]:
    """The runs of positions that grow by one."""
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    ends = [0, *breaks.tolist(), len(positions)]
    yield from (range(start, stop) for start, stop in pairwise(ends) if start < stop)


def _behind_padding(ids: Integers) -> list[int]:
    """Where a sequence may start: at its first id, or behind equal ones in front of it."""
    other = np.flatnonzero(ids != ids[0]) if len(ids) else ids
    return list(range(int(other[0]) + 1)) if len(other) else [0]


# --- the cut run ----------------------------------------------------------------------------------


class _Follower:
    """Follows requests over forward passes; each narrows down what a request may be."""

    def __init__(self, strands: list[_Strand]) -> None:
        self._strands = strands
        self._requests: list[_Request] = []
        self._ends: list[tuple[int, ...]] = []
        self._left = 0
        self._from_cache = False

    def follow(self, number: int, forward: Forward) -> None:
        """Find the requests of one forward pass among those that were followed, or new ones."""
        ends: list[int] = []
        lines = forward.lines()
        for place, line in enumerate(lines):
            if len(lines) > 1:
                segments = self._of_line(forward, line, place, len(lines))
            else:
                segments = self._packed(forward, line)
            done: set[int] = set()
            for segment in segments:
                self._take(number, segment)
                done.update(segment.rows)
                ends.append(segment.rows[-1])
            rest = [row for row in line if row not in done]
            if len(set(forward.ids[rest].tolist())) > 1 or (rest and not segments):
                self._left += len(rest)
        self._ends.append(tuple(ends))

    def tokens(self) -> Tokens:
        """All rows that were found, each request in the sequence that it fits best."""
        taken: dict[int, int] = {}
        found: list[tuple[Row, Row, int, int]] = []
        for request in sorted(self._requests, key=lambda each: len(each.candidates)):
            strand, start, reached = min(request.candidates, key=lambda c: (taken.get(c[0], 0), c))
            if reached <= self._strands[strand].padding:
                continue
            taken[strand] = taken.get(strand, 0) + 1
            rows = self._strands[strand].rows
            found += [(row, rows[start + at], strand, at) for row, at in request.rows]
        found.sort()
        return Tokens(
            np.array([strand for *_, strand, _ in found], dtype=np.int64),
            np.array([at for *_, at in found], dtype=np.int64),
            np.array([row for _, row, *_ in found], dtype=np.int64).reshape(-1, 2),
            np.array([row for row, *_ in found], dtype=np.int64).reshape(-1, 2),
            tuple(self._ends),
            self._left,
        )

    def _take(self, number: int, segment: _Segment) -> None:
        request = segment.request
        if request is None:
            request = _Request([], 0)
            self._requests.append(request)
        request.candidates = segment.candidates
        request.rows += [((number, row), segment.first + n) for n, row in enumerate(segment.rows)]
        request.length = segment.first + len(segment.rows)

    # A line of a padded batch is one sequence, with padding in front of it or behind it.
    def _of_line(self, forward: Forward, line: range, place: int, lines: int) -> list[_Segment]:
        ids = forward.ids[line.start : line.stop]
        known = self._requests[place] if len(self._requests) == lines else None
        best: _Segment | None = None
        for start in _behind_padding(ids):
            for request in (known, None):
                rows = range(line.start + start, line.stop)
                segment = self._longest(forward, rows, request)
                if segment is not None and (best is None or len(segment.rows) > len(best.rows)):
                    best = segment
        return [] if best is None else [best]

    def _packed(self, forward: Forward, line: range) -> list[_Segment]:
        """The requests of rows that nothing cuts; as many rows as can be told."""
        untold = Forward(forward.ids, forward.shape)
        # Ids are what a token is: positions that do not go on may be the fault itself. A request
        # whose beginning another has left in the cache is looked for last.
        ways = [(forward, False), (untold, False), (forward, True)]
        best: list[_Segment] = []
        for told, from_cache in ways if forward.positions is not None else ways[1:2]:
            self._from_cache = from_cache
            found = self._one_each(told, line) or _Search(self, told, line).best
            if _covered(found) > _covered(best):
                best = found
            if _covered(best) == len(line):
                break
        return best

    def _one_each(self, forward: Forward, line: range) -> list[_Segment] | None:
        """A row for each request in their order, as where all of them go on by one token."""
        going = self.going()
        certain = [request for request in going if self._goes_on(request)]
        if len(certain) == len(line):
            going = certain
        if len(going) != len(line):
            return None
        found = [
            self._longest(forward, range(row, row + 1), request)
            for row, request in zip(line, going)
        ]
        segments = [segment for segment in found if segment is not None]
        return segments if len(segments) == len(line) else None

    def going(self) -> list[_Request]:
        """The requests that may have tokens which they were not fed yet, the surest in front."""
        able = [
            request
            for request in self._requests
            if any(at < len(self._strands[strand].ids) for strand, _, at in request.candidates)
        ]
        return sorted(able, key=lambda request: not self._goes_on(request))

    def _goes_on(self, request: _Request) -> bool:
        return any(at < self._strands[strand].stop for strand, _, at in request.candidates)

    def _longest(self, forward: Forward, rows: range, request: _Request | None) -> _Segment | None:
        found = self.extents(forward, rows, request)
        if not found:
            return None
        return self.segment(forward, rows, request, found, max(n for _, n in found))

    def segment(
        self,
        forward: Forward,
        rows: range,
        request: _Request | None,
        found: list[tuple[_Candidate, int]],
        length: int,
    ) -> _Segment:
        """The first `length` of some rows as rows of a request."""
        kept = [
            (strand, start, at + length) for (strand, start, at), known in found if known >= length
        ]
        first = request.length if request is not None else found[0][0][2] - found[0][0][1]
        return _Segment(request, first, rows[:length], kept)

    def extents(
        self, forward: Forward, rows: range, request: _Request | None
    ) -> list[tuple[_Candidate, int]]:
        """How many of some rows a request may go on with, for each sequence that it may be."""
        positions = forward.positions
        stop = rows.stop
        if positions is not None and len(rows) > 1:
            told = positions[rows.start : rows.stop]
            breaks = np.flatnonzero(np.diff(told) != 1)
            stop = rows.start + int(breaks[0]) + 1 if len(breaks) else stop
        first = None if positions is None else int(positions[rows.start])
        if first is not None:
            if request is None and first and not self._from_cache:
                return []
            if request is not None and first != request.length:
                return []
        found: list[tuple[_Candidate, int]] = []
        for candidates in self._candidates(request, first or 0):
            longest = max((length for _, length in found), default=0)
            fitting = self._fitting(forward, rows.start, stop, candidates)
            found += [each for each in fitting if each[1] > longest]
        return found

    def _fitting(
        self, forward: Forward, start: int, stop: int, candidates: Iterator[_Candidate]
    ) -> list[tuple[_Candidate, int]]:
        found = []
        for candidate in candidates:
            strand, _, at = candidate
            ids = self._strands[strand].ids[at : at + stop - start]
            same = forward.ids[start : start + len(ids)] == ids
            length = len(ids) if same.all() else int(np.argmin(same))
            if length:
                found.append((candidate, length))
        return found

    def _candidates(self, request: _Request | None, first: int) -> Iterator[Iterator[_Candidate]]:
        """What a request may be; of a new one those that are likely, then others, that fit more."""
        if request is not None:
            yield iter(request.candidates)
            return
        numbered = list(enumerate(self._strands))
        yield ((n, start, start + first) for n, s in numbered for start in s.starts)
        yield ((n, start, start + first) for n, s in numbered for start in s.doubtful)


def _covered(segments: list[_Segment]) -> int:
    return sum(len(segment.rows) for segment in segments)


class _Search:
    """Cuts the rows of a packed forward pass into requests; `best` are those that it found.

    Rows that no request goes on with are left out, such as what fills up a batch.
    """

    def __init__(self, follower: _Follower, forward: Forward, line: range) -> None:
        self._follower, self._forward, self._stop = follower, forward, line.stop
        self._going = follower.going()
        self.best: list[_Segment] = []
        self._trials = _TRIALS
        start = line.start
        while start < self._stop:
            self.best += self._longest(start)
            reached = self.best[-1].rows.stop if self.best else start
            start = max(start, reached) + 1

    def _longest(self, start: int) -> list[_Segment]:
        """The segments that explain the most rows from one on, up to one that nothing explains.

        Depth first, without recursion: a forward pass may hold hundreds of requests.
        """
        path: list[_Segment] = []
        best: list[_Segment] = []
        before = {id(each.request) for each in self.best if each.request is not None}
        options = [self._options(start, before)]
        while options and self._trials > 0:
            self._trials -= 1
            segment = next(options[-1], None)
            if segment is None:
                options.pop()
                if path:
                    path.pop()
                continue
            path.append(segment)
            reached = segment.rows.stop
            if not best or reached > best[-1].rows.stop:
                best = list(path)
            if reached == self._stop:
                break
            used = {id(each.request) for each in path if each.request is not None}
            options.append(self._options(reached, before | used))
        return best

    def _options(self, row: int, used: set[int]) -> Iterator[_Segment]:
        rows = range(row, self._stop)
        follower, forward = self._follower, self._forward
        going = [request for request in self._going if id(request) not in used]
        for request in (*going, None):
            found = follower.extents(forward, rows, request)
            lengths = sorted({length for _, length in found}, reverse=True)
            if lengths:
                lengths = [*lengths, *(n for n in range(lengths[0], 0, -1) if n not in lengths)]
            for length in lengths:
                yield follower.segment(forward, rows, request, found, length)
