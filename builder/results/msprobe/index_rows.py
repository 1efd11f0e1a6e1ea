"""Nodes of msprobe's own files as rows of the indexes over a pair."""

from __future__ import annotations

from typing import Any

from builder.results.node_words import packed
from builder.results.records import Node


def row_of(n: Node) -> tuple[Any, ...]:
    """A node as a row of what is listed, searched and merged."""
    parent = -1 if n.parent is None else n.parent
    match = -1 if n.match is None else n.match
    state = _state(n)
    return n.id, parent, match, n.micro_step, state, n.score, None, -1, n.order, None, n.name


def _state(n: Node) -> int:
    words = {"kind": n.kind, "direction": n.direction, "verdict": n.verdict, "overflow": n.overflow}
    return packed(words)
