"""One model in one dtype: did recording change it, what was found, do eager and compiled agree?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.compiled.architectures import Architecture
from msprobe.compile_check import Answer, check_compilation
from msprobe.errors import CheckError

LEVEL = "mix"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`changed` results are not bit-equal with and without a recording, of `results`. `found` of
    `outputs` tensors that modules put out have numbers in the compiled dump, of `fused` others it
    says itself that the compiler made no such tensor. `named` is the first of which something is
    said, empty where eager and compiled agree; `way` the first call that one of them alone makes,
    where both come to the same results. Where results are less exact than eager's and nothing else
    differs, `less_exact` is by how many times the worst is further from the one in float64: that
    difference is true.
    `failed` says why there is nothing else.
    """

    changed: int = 0
    results: int = 0
    found: int = 0
    outputs: int = 0
    named: str = ""
    way: str = ""
    failed: str = ""
    fused: int = 0
    less_exact: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether the recording changed nothing, missed hardly anything, and accused no sound one.

        What is no tensor of the compiled model, and is said to be none, cannot be found.
        """
        there = self.outputs - self.fused
        found = self.found >= 0.98 * there > 0  # what the contract asks for
        return not (self.failed or self.changed or self.named) and found


def check(architecture: Architecture, dtype: torch.dtype) -> Outcome:
    """Compile a model as one graph with inductor, and compare it with eager under a recording."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            answer = check_compilation(
                lambda: architecture.case(dtype), folder, level=LEVEL, fullgraph=True
            )
        except (CheckError, RuntimeError, ValueError, TypeError) as error:
            return Outcome(failed=f"{type(error).__name__}: {str(error).splitlines()[0][:200]}")
        compiled, eager = (_outputs(folder / side) for side in ("compiled", "eager"))
        without = [c for p in eager if (c := compiled.get(p, {})).get("Max") is None]
        found, fused = len(eager) - len(without), sum(c.get("fused") is True for c in without)
        ways = [*(each.node for each in answer.diagnosis.named), *answer.other_calls]
        way = ways[0] if answer.goes_another_way else ""
        less = max((each.times for each in answer.only_less_exact), default=0.0)
        named = "" if way or less else accused(answer)
        counts = len(answer.changed), answer.results, found, len(eager)
        return Outcome(*counts, named, way, fused=fused, less_exact=less)


def accused(answer: Answer) -> str:
    """The first that anything is said of: a call, else a result; empty where the two agree."""
    if answer.rounded and answer.agrees:
        return ""
    names = (
        *(finding.node for finding in answer.diagnosis.findings),
        *(result.name for result in answer.vanished),
        *(result.name for result in answer.apart),
        *answer.untold,
    )
    return next(iter(names), "" if answer.agrees else answer.claim.code)


def _outputs(dump: Path) -> dict[str, dict[str, Any]]:
    """The tensors with numbers that modules put out, by entry and place."""
    (file,) = dump.rglob("dump.json")
    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    return {
        f"{name}.{place}": record
        for name, entry in data.items()
        if name.startswith("Module.") and ".forward." in name
        for place, record in _tensors(entry.get("output"), "output")
    }


def _tensors(value: object, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        yield place, value
    elif isinstance(value, (dict, list)):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            yield from _tensors(member, f"{place}.{key}")
