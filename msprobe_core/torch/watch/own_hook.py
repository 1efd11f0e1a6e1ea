"""A hook on a user's module that is neither copied nor saved with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OwnHook:
    """Calls a function; in a copy or a pickle of its module it does nothing."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401
        return self._function(*args)

    def __deepcopy__(self, _: object) -> OwnHook:
        return OwnHook(_nothing)

    def __reduce__(self) -> tuple[type[OwnHook], tuple[Callable[..., None]]]:
        return OwnHook, (_nothing,)


def _nothing(*_: object) -> None:
    """Watches nothing."""
