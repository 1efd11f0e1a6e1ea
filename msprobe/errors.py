"""What a user can do wrong with the face of the tools; the root is `MendableError`.

The command line shows message and hint as one line; in a script the error is raised.
"""

from __future__ import annotations

from msprobe_core.format.mendable_error import MendableError


class CheckError(MendableError):
    """An input or output of a check beside the comparison that cannot be used."""


class CommandError(MendableError):
    """Flags of the command line that do not go together, or whose value has no meaning."""


class AnswerError(MendableError):
    """A question of a program that cannot be answered as it was asked."""
