"""Replaces attributes of modules and classes for a time, and puts them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class Replacements:
    """Remembers what stood where. Restoring leaves an attribute alone that others replaced."""

    def __init__(self) -> None:
        self._done: list[tuple[object, str, object, object]] = []

    def __bool__(self) -> bool:
        return bool(self._done)

    def put(self, owner: object, name: str, fresh: object) -> None:
        """Set `owner.name` until `restore`."""
        own = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else _ABSENT
        setattr(owner, name, fresh)
        self._done.append((owner, name, own, fresh))

    def restore(self) -> None:
        """Put all attributes back, the last first."""
        for owner, name, before, fresh in reversed(self._done):
            if vars(owner).get(name) is not fresh:
                continue
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._done = []


_ABSENT = object()
