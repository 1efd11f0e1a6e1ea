"""What a user can do wrong with a check beside the comparison: configuration, checkpoints, saves.

The command line shows the message as one line; in a script it is raised.
"""

from __future__ import annotations


class CheckError(Exception):
    """An input or output that cannot be used: what it is, where, and the next thing to do."""
