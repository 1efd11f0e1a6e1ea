"""Keeps a long graph from ending the process when it is freed.

Torch frees the nodes of a graph in a loop, but those that Python has seen one inside the other, and
some 50,000 of them fill a stack of 8 MB. Watching a graph shows its nodes to Python. So every few
thousand nodes one gets an anchor: it holds the nodes below, and when it goes they are freed later
and from the top of a stack, whatever held the graph.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from torch.autograd.graph import Node

_BETWEEN = 4093
"""Nodes from one anchor to the next. A node takes 100 to 400 bytes of the stack, so that is at most
1.6 MB of the 8 MB that a thread has. A prime: chains that are made in turns all get anchors.
"""
_UNWOUND = 0.01  # seconds; what frees a graph does not give the interpreter away meanwhile
_KEY = "below"

_seen = 0
_freed: deque[list[Node]] = deque()
_lock = threading.Lock()


class _Anchor:
    """Holds nodes until it is let go, and a moment longer."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes

    def __del__(self) -> None:
        _freed.append(self._nodes)
        if _lock.acquire(blocking=False):
            try:
                threading.Thread(target=_free, name="msprobe frees a long graph").start()
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
