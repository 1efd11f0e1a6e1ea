"""A fault: its folder, what `fault.toml` says of it, and the answers that count as right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tomllib

HERE = Path(__file__).parent
FAULTS = HERE / "faults"
SETS = HERE / "sets"

Script = Literal["right.py", "wrong.py", "twin.py"]
LAYERS = (
    "data", "activations", "norms", "attention", "losses", "optimizers", "mixed precision",
    "casts", "initial values", "dropout", "convolution", "recurrent", "experts", "quantisation",
    "generation", "accumulation", "backward", "kernels", "data parallel", "tensor parallel",
)  # fmt: skip
AREAS = ("data", "forward", "loss", "backward", "update", "communication", "generation")
FORMATS = ("float32", "bfloat16", "float16", "int8")
# How far two sound programs may be apart, relative in the norm: some hundred roundings of float32,
# two of bfloat16, one of float16.
SOUND = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-3, "int8": 1e-4}


class FaultError(ValueError):
    """A folder that is no fault: the message names file, key and what is allowed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool may say: a module path, a call in it, and the lines that a marker names."""

    module: str
    call: str
    lines: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Fault:
    """One folder of `faults/`; `id` is its name and never changes."""

    id: str
    folder: Path
    title: str
    origin: str
    licence: str
    layer: str
    area: str
    format: str
    ranks: int
    steps: int
    first_step: int
    twin: str
    answers: tuple[Answer, ...]

    @property
    def scripts(self) -> tuple[Script, ...]:
        """The programs that the fault brings."""
        return ("right.py", "wrong.py", "twin.py") if self.twin else ("right.py", "wrong.py")

    @property
    def sound(self) -> float:
        """How far a sound change may move results: relative, in the norm."""
        return SOUND[self.format]


def load(identifier: str) -> Fault:
    """Read one fault; FaultError where its file says something that is not allowed."""
    folder = FAULTS / identifier
    path = folder / "fault.toml"
    if not path.is_file():
        raise FaultError(f"{path}: no such fault; `python -m faultbench list` names them")
    with path.open("rb") as file:
        told = tomllib.load(file)
    try:
        fault = _fault(folder, told)
    except KeyError as error:
        raise FaultError(f"{path}: the key {error} is missing") from error
    for problem in _problems(fault, told):
        raise FaultError(f"{path}: {problem}")
    return fault


def ids(chosen: str = "lite") -> list[str]:
    """The ids of a set, in its order; FaultError for a set that does not exist."""
    path = SETS / f"{chosen}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in SETS.glob("*.txt")))
        raise FaultError(f"{path}: no such set; there are {known}")
    return path.read_text(encoding="utf-8").split()


def _fault(folder: Path, told: dict[str, Any]) -> Fault:
    return Fault(
        id=told["id"],
        folder=folder,
        title=told["title"],
        origin=told["origin"],
        licence=told["licence"],
        layer=told["layer"],
        area=told["area"],
        format=told["format"],
        ranks=told["ranks"],
        steps=told["steps"],
        first_step=told["first_step"],
        twin=told["twin"],
        answers=tuple(_answer(folder, answer) for answer in told["answers"]),
    )


def _answer(folder: Path, told: dict[str, str]) -> Answer:
    marker = told.get("marker", "")
    lines = frozenset(marked_lines(folder, marker)) if marker else frozenset()
    return Answer(told["module"], told["call"], lines)


def marked_lines(folder: Path, marker: str) -> Iterator[tuple[str, int]]:
    """The lines that end with the comment `# @marker`, as (file, number) from 1."""
    for script in ("right.py", "wrong.py"):
        text = (folder / script).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if line.endswith(f"# @{marker}"):
                yield script, number


def without_markers(text: str) -> str:
    """A program as tools see it: the same lines at the same numbers, and no word of the answer."""
    return "".join(line.partition("  # @")[0].rstrip() + "\n" for line in text.splitlines())


def _problems(fault: Fault, told: dict[str, Any]) -> Iterator[str]:
    for key, value, allowed in (
        ("layer", fault.layer, LAYERS),
        ("area", fault.area, AREAS),
        ("format", fault.format, FORMATS),
    ):
        if value not in allowed:
            yield f"{key} is {value!r}; allowed are {', '.join(allowed)}"
    if fault.id != fault.folder.name:
        yield f"id is {fault.id!r}; it must be the name of the folder"
    if not any(answer.lines for answer in fault.answers):
        yield "no answer has a marker: '# @MARKER' at the end of a line of right.py or wrong.py"
    for answer, words in zip(fault.answers, told["answers"]):
        if words.get("marker") and not answer.lines:
            yield f"the marker {words['marker']!r} stands in neither right.py nor wrong.py"
    for script in fault.scripts:
        if not (fault.folder / script).is_file():
            yield f"{script} is missing"
