"""Names that a configuration does not have, answered with the nearest that it has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msprobe_core.errors import nearest
from msprobe_core.report import say


def say_unknown(
    path: str | Path, what: str, given: Iterable[str], known: Sequence[str]
) -> list[str]:
    """Say each name that is not known with the nearest that is; those that are known."""
    names = list(given)
    for name in names:
        if name not in known:
            say(f"{path}: there is no {what} {name!r}; {nearest(name, known)}")
    return [name for name in names if name in known]
