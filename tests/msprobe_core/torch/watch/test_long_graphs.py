"""What frees the nodes of a long graph: at once where it is short, in a thread where it is not."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import pytest
import torch
from torch.autograd.graph import Node

from msprobe_core.torch.watch import long_graphs


@pytest.fixture(autouse=True)
def _no_anchors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(long_graphs, "_BETWEEN", 3)
    monkeypatch.setattr(long_graphs, "_seen", 0)
    monkeypatch.setattr(long_graphs, "_alive", set())
    yield
    _wait()


def _wait() -> None:
    for thread in threading.enumerate():
        if thread.name == long_graphs.THREAD:
            thread.join(5)


def _chain(length: int) -> tuple[torch.Tensor, weakref.ref[torch.Tensor]]:
    """The end of a chain whose nodes have been seen, and whether its first factor lives."""
    kept = torch.ones(2)
    x = torch.ones(2, requires_grad=True)
    y = x * kept
    for _ in range(length):
        y = y * 1.5
    node: Node | None = y.grad_fn
    while node is not None:
        long_graphs.seen(node)
        node = node.next_functions[0][0] if node.next_functions else None
    return y, weakref.ref(kept)


def test_the_only_anchor_lets_go_at_once_and_without_a_thread() -> None:
    end, factor = _chain(2)
    assert len(long_graphs._alive) == 1
    assert factor() is not None
    del end
    assert factor() is None
    assert long_graphs.THREAD not in {thread.name for thread in threading.enumerate()}
    assert not long_graphs._alive


def test_further_anchors_let_go_in_a_thread_that_ends() -> None:
    end, factor = _chain(20)
    assert len(long_graphs._alive) > 2
    del end
    _wait()
    assert factor() is None
    assert not long_graphs._alive


def test_a_fork_frees_what_its_parent_was_about_to_free() -> None:
    # A fork copies the lock as it is held, but not the thread that would give it back.
    assert long_graphs._lock.acquire(blocking=False)
    end, factor = _chain(20)
    del end
    assert factor() is not None
    long_graphs._in_the_child()
    _wait()
    assert factor() is None
