"""What a tool answers: rows, the first suspect first, and whether a row is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from faultbench.fault import Answer


@dataclass(frozen=True, slots=True)
class Row:
    """One suspect. Leave empty what the tool does not say; a line is more than a call, a call more
    than a module.

    `file` is right.py or wrong.py, `line` counts from 1; `module` is the path as in
    `model.named_modules()`, "" outside of modules; `call` the bare name of the function.
    """

    module: str | None = None
    call: str | None = None
    file: str = ""
    line: int = 0
    certain: bool = False

    def told(self) -> dict[str, Any]:
        """The row as a JSON object."""
        return asdict(self)


def is_right(row: Row, answers: Sequence[Answer]) -> bool:
    """Whether a row names the fault by what it says: its line, its call, or its module."""
    return any(_meets(row, answer) for answer in answers)


def first_right(rows: Sequence[Row], answers: Sequence[Answer]) -> int | None:
    """The place of the first right row, from 1; None if there is none."""
    for place, row in enumerate(rows, 1):
        if is_right(row, answers):
            return place
    return None


def _meets(row: Row, answer: Answer) -> bool:
    if (row.file, row.line) in answer.lines:
        return True
    if row.module is None or row.module != answer.module:
        return False
    if row.call is not None:
        return bool(answer.call) and bare(row.call) == bare(answer.call)
    # What stands outside of modules is not named by naming the model.
    return answer.module != ""


def bare(call: str) -> str:
    """`__rmul__`, `mul_` and `mul` are one name."""
    name = call.strip("_").lower()
    operators = ("add", "sub", "mul", "truediv", "matmul", "pow", "div")
    return name[1:] if name.startswith("r") and name[1:] in operators else name
