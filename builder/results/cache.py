"""Keeps the things that were used last; each is made once, however many threads ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class Cache(Generic[Kept]):
    """At most `most` things; `discard` is told of those that are let go."""

    def __init__(self, most: int, discard: Callable[[Kept], None] | None = None) -> None:
        self._most = most
        self._discard = discard
        self._kept: OrderedDict[Hashable, Future[Kept]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is kept under a key, made now if need be; a failure is raised and not kept.

        Making one thing holds up only those who ask for the same.
        """
        with self._lock:
            known = self._kept.get(key)
            future = known if known is not None else Future[Kept]()
            self._kept[key] = future
            self._kept.move_to_end(key)
            dropped = self._shrink()
        for old in dropped:
            if self._discard is not None:
                old.add_done_callback(self._let_go)
        if known is None:
            self._fill(key, future, make)
        return future.result()

    def _fill(self, key: Hashable, future: Future[Kept], make: Callable[[], Kept]) -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # raised for each that waits for the result
            with self._lock:
                self._kept.pop(key, None)
            future.set_exception(error)

    def _shrink(self) -> list[Future[Kept]]:
        excess = max(0, len(self._kept) - self._most)
        return [self._kept.popitem(last=False)[1] for _ in range(excess)]

    def _let_go(self, future: Future[Kept]) -> None:
        if self._discard is not None and future.exception() is None:
            self._discard(future.result())
