"""What a user can do wrong with the dumper.

DumperError ─┬─ ConfigError          a key, a value or a combination in the configuration
             ├─ UnsupportedError     needs hardware or a framework that is not here
             └─ LifecycleError       a call at a moment where it has no meaning

WriteError is none of his: the disk is full, or gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class DumperError(Exception):
    """A mistake in the use of the dumper; the text names it and the next thing to do."""


class WriteError(OSError):
    """A file of the dump cannot be written; other errors of the system are the user's own."""


class ConfigError(DumperError):
    """A wrong key, value or combination in the configuration; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)  # both, so that it travels between processes
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


class UnsupportedError(DumperError):
    """A feature that needs hardware or a framework that this process does not have."""


class LifecycleError(DumperError):
    """A call that has no meaning at this moment, such as `start` without the model it needs."""


def nearest(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """What a name probably meant; where nothing is near, `otherwise` or all that is known."""
    names = list(known)
    near = get_close_matches(str(name), names, 1)
    return f"did you mean {near[0]!r}?" if near else otherwise or f"known: {', '.join(names)}"
