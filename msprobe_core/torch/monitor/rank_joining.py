"""Makes values of a step whole that lie in pieces on several ranks, behind the training.

Every rank measures what it holds. A thread sends its pieces to the rank that writes them, or adds
up those that come in: the sums and extremes of moments, for all parameters of a family at once. The
step has ended long before, and no rank waits in it for another: not for one that does not follow
the training, has left, or ends its steps elsewhere. Only this thread does, for a limited time, and
what does not come is left out from then on.

Who follows is decided once for each family, before its first step is written, so that a series is
of whole tensors throughout or of one rank's pieces throughout.
"""

from __future__ import annotations

import queue
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from msprobe_core.monitor.moments import MOMENTS, SIZE, SQUARES, SUM, Places, Rows, add_up
from msprobe_core.report import say
from msprobe_core.torch.monitor.odd_tensors import worded
from msprobe_core.torch.monitor.rank_post import RankPost
from msprobe_core.torch.monitor.shards import Family

_STEPS_TO_COME = 4
"""Whoever begins to follow before the training does is there by then: a rank that trains in common
cannot be this far ahead of another's first step."""
_MOST_WAITING = 64
"""Steps that are kept for pieces to come: of 1,000 parameters 0.3 MB each."""
_MOST_UNREAD = 8
"""Steps that a rank may be ahead of the one that reads its pieces."""
_PATIENCE, _LAST_PATIENCE = 60.0, 5.0
"""Seconds until a rank that sends nothing counts as gone; the second where this one is closed."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_HEAD = struct.Struct("<III")
"""Kinds, parameters, and the checksum of their names."""


@dataclass(slots=True)
class Pieces:
    """What this rank holds of a step, [kind][parameter][moment]; `complete` takes it when whole.

    `sizes`: elements of the whole parameter, None where they are not known here. `counts`: kinds
    whose rows count ranks and not elements. `compared`: the kind whose replicas are compared in
    this step, if they are.
    """

    step: int
    rows: Rows
    families: Sequence[Family | None]
    names: Sequence[str]
    sizes: Sequence[int | None]
    complete: Callable[[Joined], None]
    counts: frozenset[int] = frozenset()
    compared: int | None = None

    def alone(self) -> Joined:
        """As they are, where no other rank holds any of the parameters."""
        return Joined(self.rows, np.ones(self.rows.shape[:2], dtype=bool))


@dataclass(slots=True)
class Joined:
    """The rows of a step, which of them this rank writes, whether all that is measured of the model
    is whole here, and by parameter the ranks whose replicas differ from most.
    """

    rows: Rows
    written: NDArray[np.bool_]
    is_whole: bool = True
    differing: dict[int, list[int]] = field(default_factory=dict)


class RankJoining:
    """The pieces of one rank, in the order of the steps. Nothing here raises."""

    def __init__(self, post: RankPost | None) -> None:
        self._post = post
        self._waiting: queue.Queue[Pieces | None] = queue.Queue()
        self._unread: dict[str, list[int]] = {}
        self._lost: set[str] = set()
        self._ends_at: float | None = None
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, pieces: Pieces) -> None:
        """Take a step; its `complete` is called in order, soon."""
        self._waiting.put(pieces)

    def close(self) -> None:
        """Finish what is waiting, as long as others send it within a moment."""
        self._ends_at = time.monotonic() + _LAST_PATIENCE
        self._waiting.put(None)
        self._thread.join(2 * _LAST_PATIENCE)
        if self._post is not None:
            try:
                self._post.note(f"left/{self._post.rank}")
            except Exception:  # the store has ended before
                self._post = None

    def _run(self) -> None:
        while (pieces := self._waiting.get()) is not None:
            pieces.complete(self._joined(pieces))

    def _joined(self, pieces: Pieces) -> Joined:
        kinds, count = pieces.rows.shape[:2]
        result = Joined(pieces.rows.copy(), np.ones((kinds, count), dtype=bool))
        members: dict[Family, list[int]] = {}
        for number, family in enumerate(pieces.families):
            if family is not None:
                members.setdefault(family, []).append(number)
        for family, numbers in members.items():
            try:
                self._decide(family)
                self._join(family, numbers, pieces, result)
            except Exception as error:  # the store is gone, or something of it
                self._go_on_alone(error)
                self._leave_out(family, numbers, result)
        return result

    def _decide(self, family: Family) -> None:
        """Wait until it is known who follows."""
        if family.followers is not None:
            return
        for _ in _polling() if self._post is not None else ():
            assert self._post is not None
            here = self._post.here(family.ranks)
            late = (
                self._ends_at is not None
                or self._waiting.qsize() >= _STEPS_TO_COME
                or self._is_too_long(self._began)
            )
            proposal = here if late or len(here) == len(family.ranks) else None
            decided = self._post.decided(f"follow/{family.key}", proposal)
            if decided is not None:
                family.followers = frozenset(decided)
                break
        else:
            family.followers = frozenset({family.rank})
        self._say_who(family)

    def _join(self, family: Family, numbers: list[int], pieces: Pieces, result: Joined) -> None:
        role = family.role
        if role == "writes" and len(family.written) > 1:
            self._gather(family, numbers, pieces, result)
        elif role == "sends":
            head = _HEAD.pack(*_form(pieces, numbers))
            body = zlib.compress(np.ascontiguousarray(pieces.rows[:, numbers]).tobytes(), 1)
            self._send("pieces", family, pieces.step, head + body)
            self._leave_out(family, numbers, result)
        elif role != "writes":
            result.is_whole = False
            result.written[:, numbers] = role == "alone"
        if family.compared and pieces.compared is not None:
            result.differing |= self._compared(family, numbers, pieces, pieces.compared)

    def _gather(self, family: Family, numbers: list[int], pieces: Pieces, result: Joined) -> None:
        """Add up the pieces; what is not complete is not written."""
        own = pieces.rows[:, numbers]
        parts = [own]
        for rank in family.written[1:]:
            content = self._received("pieces", family, pieces.step, rank)
            if content is None or _HEAD.unpack_from(content) != _form(pieces, numbers):
                self._leave_out(family, numbers, result)
                return
            raw = np.frombuffer(zlib.decompress(content[_HEAD.size :]))
            parts.append(raw.reshape(own.shape))
        self._note_read("pieces", family, pieces.step)
        whole = _sum_of(parts)
        result.rows[:, numbers] = whole
        for kind in range(len(whole)):
            expected = [
                len(parts) if kind in pieces.counts else pieces.sizes[number] for number in numbers
            ]
            complete = [e is None or e == s for e, s in zip(expected, whole[kind, :, SIZE])]
            result.written[kind, numbers] = complete

    def _compared(
        self, family: Family, numbers: list[int], pieces: Pieces, kind: int
    ) -> dict[int, list[int]]:
        """On the rank that writes: the ranks whose values are not those of most, by parameter."""
        if family.followers is None or family.rank not in family.followers:
            return {}
        own = np.nan_to_num(pieces.rows[kind, numbers][:, [SUM, SQUARES]], nan=1.5)
        if family.role != "writes":
            self._send("tie", family, pieces.step, np.ascontiguousarray(own).tobytes())
            return {}
        values = {family.rank: own}
        for rank in sorted(family.followers - {family.rank}):
            content = self._received("tie", family, pieces.step, rank)
            if content is None:
                return {}
            raw = np.frombuffer(content)
            if raw.size != own.size:
                return {}
            values[rank] = raw.reshape(own.shape)
        self._note_read("tie", family, pieces.step)
        return _minorities(values, numbers)

    def _leave_out(self, family: Family, numbers: list[int], result: Joined) -> None:
        if family.followers is None:
            family.followers = frozenset({family.rank})
        result.is_whole = False
        result.written[:, numbers] = family.role == "alone"

    def _send(self, what: str, family: Family, step: int, content: bytes) -> None:
        post, key = self._post, f"{what}/{family.key}"
        if post is None or key in self._lost:
            return
        unread = self._unread.setdefault(key, [])
        began = time.monotonic()
        for _ in _polling() if len(unread) >= _MOST_UNREAD else ():
            read = post.noted(f"read/{key}")
            unread[:] = [one for one in unread if read is None or one > read]
            if len(unread) < _MOST_UNREAD:
                break
            if post.noted(f"stopped/{key}") is not None or self._is_too_long(began):
                self._lose(what, family, family.written[0] if family.written else None)
                return
        unread.append(step)
        post.send(f"{key}/{step}/{family.rank}", content)

    def _received(self, what: str, family: Family, step: int, rank: int) -> bytes | None:
        """What a rank has sent of a step; None where it does not come any more."""
        post, key = self._post, f"{what}/{family.key}"
        if post is None or key in self._lost:
            return None
        name, began = f"{key}/{step}/{rank}", time.monotonic()
        for _ in _polling():
            left = post.noted(f"left/{rank}") is not None
            content = post.take(name)
            if content is not None:
                return content
            if left or self._is_too_long(began):
                break
        post.note(f"stopped/{key}")
        self._lose(what, family, rank)
        return None

    def _note_read(self, what: str, family: Family, step: int) -> None:
        if self._post is not None:
            self._post.note(f"read/{what}/{family.key}", step)

    def _is_too_long(self, since: float) -> bool:
        now = time.monotonic()
        if self._waiting.qsize() >= _MOST_WAITING:
            return True
        return now > self._ends_at if self._ends_at is not None else now - since > _PATIENCE

    def _lose(self, what: str, family: Family, rank: int | None) -> None:
        self._lost.add(f"{what}/{family.key}")
        if self._ends_at is None:
            missing = "replicas are not compared" if what == "tie" else "their whole is not written"
            say(f"monitoring: nothing comes from rank {rank}; {missing} any more")

    def _go_on_alone(self, error: Exception) -> None:
        if self._post is not None and self._ends_at is None:
            say(f"monitoring: ranks cannot reach each other any more: {worded(error)}")
        self._post = None

    def _say_who(self, family: Family) -> None:
        followers = family.followers or frozenset()
        missing = [rank for rank in family.ranks if rank not in followers]
        if not missing or family.rank != min(followers, default=family.rank):
            return
        some = f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing[:_NAMED]))}"
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        does = "do" if len(missing) > 1 else "does"
        what = (
            "each other rank writes the pieces that it holds"
            if not family.written
            else (
                "replicas are compared without" if family.compared else "another replica is written"
            )
        )
        say(f"monitoring: {some}{more} {does} not follow the training; {what}")


_NAMED = 8


def _polling() -> Iterator[None]:
    """At once, and then after pauses that grow."""
    pause = _SHORTEST_PAUSE
    while True:
        yield
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _form(pieces: Pieces, numbers: list[int]) -> tuple[int, int, int]:
    names = "\n".join(pieces.names[number] for number in numbers)
    return len(pieces.rows), len(numbers), zlib.crc32(names.encode())


def _sum_of(parts: Sequence[Rows]) -> Rows:
    """Rows of moments [kind][parameter][moment], added up over ranks."""
    flat = [part.reshape(-1, len(MOMENTS)) for part in parts]
    count = len(flat[0])
    places: Places = np.tile(np.arange(count, dtype=np.intp), len(flat))
    whole: Rows = add_up(np.concatenate(flat), places, count).reshape(parts[0].shape)
    return whole


def _minorities(values: dict[int, Rows], numbers: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for at, number in enumerate(numbers):
        each = {rank: rows[at].tobytes() for rank, rows in values.items()}
        if len(set(each.values())) > 1:
            bits = list(each.values())
            most = max(bits, key=bits.count)
            found[number] = [rank for rank, own in each.items() if own != most]
    return found
