"""Records ports, compares each with its original, and says whether the beginning is named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import builder
from builder.claim import Claim
from evaluation.ports.port import Port
from evaluation.ports.run import ORIGINAL, SOUND


@dataclass(frozen=True)
class Answer:
    """What was said of one port: the nodes named, in order, and where it should begin.

    `lines` are the lines of source that go with them; `certainty` is how sure the first one is said
    to be. The pair `is_refused` where nothing was compared of what should have been.
    """

    port: str
    dtype: str
    run: str
    wanted: str | None
    named: tuple[str, ...]
    lines: tuple[str, ...]
    claim: Claim
    certainty: str = ""
    is_refused: bool = False

    @property
    def is_right(self) -> bool:
        """Whether the first node named is the fault's; of a sound port, that none is."""
        if self.wanted is None:
            return not self.named
        return self._is_among(1)

    @property
    def is_certain_and_wrong(self) -> bool:
        """Whether what is named first is said to be certain, and is not the fault."""
        return self.certainty == "certain" and not self.is_right

    @property
    def is_in_three(self) -> bool:
        """Whether one of the first three is."""
        return self._is_among(3)

    def _is_among(self, many: int) -> bool:
        answers = zip(self.named[:many], self.lines[:many])
        places = (self.wanted or "").split(" or ")
        return any(_is_of(name, line, place) for name, line in answers for place in places)


def answers(
    port: Port, dtype: str, runs: Sequence[str], root: Path, level: str = "mix"
) -> Iterator[Answer]:
    """The answers on some runs of a port: `sound`, or faults by their names."""
    folder = root / f"{port.name}-{dtype}"
    command = [sys.executable, "-m", "evaluation.ports.run", str(folder), port.name, dtype, level]
    subprocess.run([*command, ORIGINAL, *runs], check=True, capture_output=True)
    for run in runs:
        output = root / "compared" / f"{port.name}-{dtype}-{run}"
        result = builder.build(folder / run, folder / ORIGINAL, output)
        told = builder.diagnose(result.path)
        # Of a pair that is refused nothing is named.
        findings = () if told.refusal is not None else result.findings
        named = tuple(finding.name for finding in findings)
        lines = tuple(finding.line or "" for finding in findings)
        wanted = None if run == SOUND else port.faults[run]
        sure = told.named[0].certainty if told.named else None
        word = "" if sure is None else sure.word
        is_refused = told.refusal is not None
        yield Answer(port.name, dtype, run, wanted, named, lines, result.claim, word, is_refused)


def _is_of(name: str, line: str, wanted: str) -> bool:
    """Whether an entry is that of a module by its path, or of a call outside all by its name.

    `in FUNCTION` is a function of a program that has no modules.
    """
    if wanted.startswith("in "):
        return f", {wanted}" in line
    owner = name.removesuffix(".forward.0").removesuffix(".backward.0")
    return owner.rpartition(".")[0] == f"Module.{wanted}" or name.startswith(f"{wanted}.")
