"""A thing is made once, however many ask; failures are not kept; what is let go is discarded."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from builder.results.cache import Cache


def test_threads_that_ask_together_get_one_thing() -> None:
    cache: Cache[object] = Cache(2)
    made: list[int] = []

    def make() -> object:
        made.append(1)
        time.sleep(0.05)
        return object()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.get("key", make), range(8)))
    assert len(made) == 1
    assert len(set(map(id, found))) == 1


def test_slow_making_holds_up_nobody_else() -> None:
    cache: Cache[int] = Cache(4)
    release = threading.Event()
    slow = threading.Thread(target=cache.get, args=("slow", lambda: int(release.wait(10))))
    slow.start()
    assert cache.get("other", lambda: 7) == 7
    release.set()
    slow.join()


def test_failure_is_raised_and_tried_again() -> None:
    cache: Cache[int] = Cache(2)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("key", fail)
    assert cache.get("key", lambda: 3) == 3


def test_least_recently_used_is_let_go() -> None:
    gone: list[str] = []
    cache = Cache(2, gone.append)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda key=key: key)  # type: ignore[misc]
    assert gone == ["b"]
