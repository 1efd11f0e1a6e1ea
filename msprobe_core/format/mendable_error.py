"""The root of what a user can do wrong, below all packages since all of them may import the format.

MendableError           what and where, and in `hint` the next step
├── BuilderError            builder/errors.py: dumps, mappings, result files
├── FrameworkError          msprobe_core/format/frameworks: another package's description
├── CheckError              msprobe/errors.py: configurations, checkpoints, saved values
├── CommandError            msprobe/errors.py: flags that do not go together
└── AnswerError             msprobe/errors.py: questions of programs (`mcp`, `ask`)
"""

from __future__ import annotations


class MendableError(Exception):
    """A mistake that a user can mend: `message` says what and where, `hint` what to do.

    As text it is one line, both with a semicolon between.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)  # both, so that it travels between processes
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"
