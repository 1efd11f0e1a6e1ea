"""Tells when the result of an asynchronous collective is there: when its caller waits for it.

Before that nobody may touch its buffers; afterwards the caller may write them at once. A callback
of a future runs in a thread of the backend's: what it would find is kept for the caller's thread.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from msprobe_core.capture.replacing import Replacements

Thing = TypeVar("Thing")
Method = Callable[..., Any]

_WAITING = ("wait", "synchronize", "result", "is_completed")
_OF_FUTURES = ("wait", "value", "done")
_WITH_CALLBACK = ("then", "add_done_callback")
_ASKING = frozenset({"is_completed", "done"})
"""Methods after which the result is there only if they have said so."""


@dataclass(slots=True, eq=False)
class _Pending(Generic[Thing]):
    works: list[object]
    """Those that nobody has waited for yet."""
    thing: Thing
    thread: int


class Awaited(Generic[Thing]):
    """Calls `ready` with what was noted for a work as soon as somebody has waited for it.

    `keep` makes what does not change any more of it, where a callback comes first; `ready` gets
    that with the next `deliver`.
    """

    def __init__(self, ready: Callable[[Thing], None], keep: Callable[[Thing], Thing]) -> None:
        self._ready, self._keep = ready, keep
        self._replaced = Replacements()
        self._pending: list[_Pending[Thing]] = []
        self._kept: list[Thing] = []
        self._futures: dict[int, tuple[object, object]] = {}

    def start(self) -> None:
        """Watch all works and their futures, if torch.distributed is in use."""
        distributed: Any = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or self._replaced:
            return
        put, future = self._replaced.put, torch._C.Future
        for name in _WAITING:
            put(distributed.Work, name, self._after(getattr(distributed.Work, name), _itself))
        for name in _OF_FUTURES:
            put(future, name, self._after(getattr(future, name), self._work_of))
        for name in _WITH_CALLBACK:
            put(future, name, self._calling_back(getattr(future, name)))
        for name in ("get_future", "get_future_result"):
            if hasattr(distributed.Work, name):
                put(distributed.Work, name, self._handing_out(getattr(distributed.Work, name)))

    def stop(self) -> None:
        """Put the originals back. What is pending stays so."""
        self._replaced.restore()

    def note(self, work: object, thing: Thing) -> None:
        """Note what becomes ready with a work, or with the last of several."""
        works = [*work] if isinstance(work, (list, tuple)) else [work]
        self._pending.append(_Pending(works, thing, threading.get_ident()))

    def note_or_hand_over(self, work: object, thing: Thing) -> None:
        """Note what becomes ready with a work, or hand it over if that is done."""
        if is_completed(work):
            self._ready(thing)
        else:
            self.note(work, thing)

    def deliver(self) -> None:
        """Hand over what callbacks have found."""
        while self._kept:
            self._ready(self._kept.pop(0))

    def deliver_completed(self) -> None:
        """Hand over what nobody has waited for and is there nevertheless."""
        self.deliver()
        for pending in [each for each in self._pending if is_completed(each.works)]:
            self._pending.remove(pending)
            self._ready(pending.thing)

    @property
    def pending(self) -> list[Thing]:
        """What nobody has waited for yet."""
        return [pending.thing for pending in self._pending]

    def take_rest(self) -> list[Thing]:
        """What has not come; nothing is pending any more."""
        rest = [pending.thing for pending in self._pending]
        self._pending, self._futures = [], {}
        return rest

    def has_come(self, work: object) -> None:
        """Somebody has waited for a work."""
        for pending in [each for each in self._pending if _holds(each.works, work)]:
            pending.works = [each for each in pending.works if each is not work]
            if pending.works or pending not in self._pending:
                continue
            self._pending.remove(pending)
            if threading.get_ident() == pending.thread or _is_pythons_thread():
                self._ready(pending.thing)
            else:
                self._kept.append(self._keep(pending.thing))

    def _after(self, original: Method, work_of: Callable[[object], object]) -> Method:
        asks = original.__name__ in _ASKING

        @functools.wraps(original)
        def waited(self_: object, *args: Any, **kwargs: Any) -> Any:
            result = original(self_, *args, **kwargs)
            if self._pending and not (asks and (not result or _asked_by_us())):
                self.has_come(work_of(self_))
            return result

        return waited

    def _handing_out(self, original: Method) -> Method:
        @functools.wraps(original)
        def get(work: object, *args: Any, **kwargs: Any) -> Any:
            future = original(work, *args, **kwargs)
            if any(_holds(pending.works, work) for pending in self._pending):
                self._futures[id(future)] = future, work
            return future

        return get

    def _calling_back(self, original: Method) -> Method:
        @functools.wraps(original)
        def then(future: object, callback: Callable[[object], Any]) -> Any:
            work = self._work_of(future)
            if work is None:
                return original(future, callback)

            @functools.wraps(callback)
            def after(done: object) -> Any:
                self.has_come(work)
                return callback(done)

            following = original(future, after)
            if following is not None:
                self._futures[id(following)] = following, work
            return following

        return then

    def _work_of(self, future: object) -> object:
        return self._futures.get(id(future), (None, None))[1]


def is_completed(work: object) -> bool:
    """Whether a call's work is done; what is no work (None from a blocking call) is."""
    if isinstance(work, (list, tuple)):
        return all(is_completed(each) for each in work)
    completed = getattr(work, "is_completed", None)
    return completed is None or bool(completed())


def _itself(work: object) -> object:
    return work


def _holds(works: list[object], work: object) -> bool:
    return work is not None and any(each is work for each in works)


def _is_pythons_thread() -> bool:
    """Whether Python has begun the thread, and none of a backend's runs."""
    return threading.get_ident() in threading._active  # type: ignore[attr-defined]  # private to Python


def _asked_by_us() -> bool:
    return str(sys._getframe(2).f_globals.get("__name__")).startswith("msprobe")
