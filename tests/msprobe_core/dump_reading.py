"""Reads dumps back the way any other tool would: with the standard library alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RankDump:
    path: Path
    head: dict[str, Any]
    data: dict[str, Any]
    construct: dict[str, Any]
    stack: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return list(self.data)

    def stack_of(self, entry: str) -> list[str]:
        return next(frames for names, frames in self.stack.values() if entry in names)


def read_rank_dump(path: Path) -> RankDump:
    saved = path / "debug.json"
    head = _load(saved if saved.exists() else path / "dump.json")
    data = head.pop("data")
    return RankDump(path, head, data, _load(path / "construct.json"), _load(path / "stack.json"))


def read_rank_dumps(root: Path) -> list[RankDump]:
    return [read_rank_dump(path.parent) for path in sorted(root.glob("step*/*/d*.json"))]


def tensors(record: Any) -> Iterator[dict[str, Any]]:
    """All tensor records below a value."""
    if isinstance(record, dict):
        if record.get("type") == "torch.Tensor":
            yield record
            return
        for value in record.values():
            yield from tensors(value)
    elif isinstance(record, list):
        for value in record:
            yield from tensors(value)


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
