"""Keeps a long graph from ending the process when it is freed.

Torch frees the nodes of a graph in a loop, but those that Python has seen one inside the other, and
some 50,000 of them fill a stack of 8 MB. Watching a graph shows its nodes to Python. So every few
thousand nodes one gets an anchor: it holds the nodes below, and when it goes they are freed later
and from the top of a stack, whatever held the graph. An anchor that is the only one lets go at
once: what is between it and the next one, or the end, is short, and most models need no more.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Any

from torch.autograd.graph import Node

_BETWEEN = 2039
"""Nodes from one anchor to the next. A node takes 100 to 400 bytes of the stack, and with the one
that lets go at once two such stretches are freed together: at most 1.6 MB of the 8 MB that a thread
has. A prime: chains that are made in turns all get anchors.
"""
_UNWOUND = 0.01  # seconds; what frees a graph does not give the interpreter away meanwhile
_KEY = "below"
THREAD = "msprobe frees a long graph"
"""The name of the thread that frees what anchors held; it ends when there is no more."""

_seen = 0
_alive: set[int] = set()  # the anchors there are
_freed: deque[list[Node]] = deque()
_lock = threading.Lock()


class _Anchor:
    """Holds nodes until it is let go, and where there are other anchors a moment longer."""

    __slots__ = ("_is_first", "_nodes")

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._is_first = not _alive
        _alive.add(id(self))

    def __del__(self) -> None:
        _alive.discard(id(self))
        if not self._is_first:
            _freed.append(self._nodes)
            _begin_to_free()


def _begin_to_free() -> None:
    if _lock.acquire(blocking=False):
        try:
            threading.Thread(target=_free, name=THREAD).start()
        except RuntimeError:  # the interpreter ends, and takes the graph with it
            _lock.release()


def seen(node: Node) -> None:
    """Note that Python has seen a node of a graph."""
    global _seen  # noqa: PLW0603 - counts over all graphs and steps
    _seen += 1
    if _seen % _BETWEEN == 0:
        below = [target for target, _ in node.next_functions if target is not None]
        held: Any = node.metadata  # a property, whatever the stubs say
        held[_KEY] = _Anchor(below)


def _free() -> None:
    try:
        while _freed:
            time.sleep(_UNWOUND)
            _freed.popleft()
    finally:
        _lock.release()


def _in_the_child() -> None:
    """A fork has no thread that would free, and the lock may be that thread's."""
    global _lock  # noqa: PLW0603 - the lock of the parent is never released here
    _lock = threading.Lock()
    if _freed:
        _begin_to_free()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_in_the_child)
