"""What can go wrong for a user of the builder, one class per kind of outcome.

BuilderError            what and where, and in `hint` the next step
├── InputError          something that was given cannot be used
│   ├── DumpError           a dump folder or one of its files
│   ├── MappingError        a layer mapping or manual mapping
│   ├── DatabaseError       a result file
│   ├── ExpressionError     a search expression
│   └── UnknownNodeError    a node, step or rank that the result file does not have
└── OutputError         the place the result should go to
"""

from __future__ import annotations

from typing import TypeAlias

from msprobe_core.format.mendable_error import MendableError

# Its code, and what the sentence of a page holds.
Refused: TypeAlias = dict[str, str | float | bool | None]


class BuilderError(MendableError):
    """A mistake in the use of the builder."""


class InputError(BuilderError):
    """Something that was given cannot be used."""


class DumpError(InputError):
    """A dump folder or a file in it cannot be read."""


class MappingError(InputError):
    """A mapping file cannot be used as it is."""


class DatabaseError(InputError):
    """A result file cannot be read."""


class ExpressionError(InputError):
    """A search expression cannot be used; `reason` says why for interfaces of other languages."""

    def __init__(self, message: str, hint: str, reason: Refused | None = None) -> None:
        super().__init__(message, hint)
        self.reason = reason


class UnknownNodeError(InputError, LookupError):
    """A result file does not have what was asked for."""

    def __init__(self, message: str, hint: str = "open it again: it may have been rebuilt") -> None:
        super().__init__(message, hint)


class OutputError(BuilderError):
    """The result cannot be written."""
