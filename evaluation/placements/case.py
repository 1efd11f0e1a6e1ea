"""A program of several processes that can be run soundly and with one fault in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from evaluation.placements.run import Run

Third = Literal["first", "second", "late", "held", "real", "real late"]
Program = Callable[[Run], None]
CASES: list[Case] = []


@dataclass(frozen=True, slots=True)
class Case:
    """`culprits` are expressions: a finding whose node fits one has found the fault.

    `axes` are sizes, the innermost first; `is_told` where the dumper is told them. Cases of the
    `late` third, and those `held` back since, were written after the code and are never tuned on;
    `real` ones run code of others, and of these, too, some were written `late`.
    """

    name: str
    third: Third
    axes: Mapping[str, int]
    program: Program
    culprits: tuple[str, ...]
    is_told: bool


def case(
    third: Third, axes: Mapping[str, int], *culprits: str, is_told: bool = True
) -> Callable[[Program], Program]:
    """List a program as a case, under its own name."""

    def add(program: Program) -> Program:
        name = program.__name__  # type: ignore[attr-defined]
        CASES.append(Case(name, third, axes, program, culprits, is_told))
        return program

    return add
