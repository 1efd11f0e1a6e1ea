"""A fault that repeats is one cause with all its places, and takes no other fault with it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

import builder
from builder.run.build import BuildResult
from builder.work.options import BuildOptions
from builder.work.outcome import StoredFinding
from tests.builder.diagnosis.repeating_model import BLOCKS, HALVES, HEADS, STEPS, Faults, recorded
from tests.builder.dumps import Json, forward, tensor, write_dump
from tests.told import facts

CALLS = BLOCKS * HALVES * STEPS
UPDATES = (1 + BLOCKS * 8) * STEPS  # an embedding, and four layers with a bias in each block


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("benchmark"), Faults())


def built(tmp_path: Path, problem: Path, benchmark: Path) -> BuildResult:
    return builder.build(problem, benchmark, tmp_path / "o", BuildOptions(workers=1))


def names(finding: StoredFinding) -> list[str]:
    return [finding.name, *(place.name for place in finding.places)]


def without(path: Path, what: Literal["stack", "sketch"]) -> None:
    """Take from a dump what other dumpers do not write."""
    for file in path.rglob("stack.json" if what == "stack" else "dump.json"):
        text = "{}" if what == "stack" else re.sub(r'"sketch": ?"[^"]*",? ?', "", file.read_text())
        file.write_text(text)


GATE = ("rewired", "Tensor.__mul__", CALLS)
SCALE = ("missing_calls", "Tensor.__mul__", CALLS * HEADS)
MASK = ("argument_differs", "Tensor.triu", CALLS)
SLOPE = ("argument_differs", "Torch.linspace", CALLS)
DROPOUT = ("argument_differs", "Functional.dropout", CALLS)
CAST = ("precision_differs", "Functional.linear", CALLS)
DETACH = ("extra_calls", "Tensor.detach", CALLS)
FACTOR = ("argument_differs", "Tensor.__mul__", CALLS * HEADS)
STOP = ("extra_calls", "Tensor.detach", CALLS)
DECAY = ("extra_replaced", "Tensor.add", UPDATES)
EPSILON = ("argument_differs", "Tensor.add_", UPDATES)


@pytest.mark.parametrize(
    ("faults", "causes"),
    [
        (Faults(gate=True, epsilon=1e-2), [GATE, EPSILON]),
        (Faults(mask=2), [MASK]),
        (Faults(scale=True), [SCALE]),
        (Faults(decay=True), [DECAY]),
        (Faults(slope=0.9), [SLOPE]),
        (Faults(dropout=0.5, epsilon=1e-2), [DROPOUT, EPSILON]),
        (Faults(cast=True), [CAST]),
        (Faults(detach=True), [DETACH]),
        (Faults(stop=True), [STOP]),
        (Faults(factor=0.05), [FACTOR]),
    ],
    ids=[
        "gate-epsilon",
        "mask",
        "scale",
        "decay",
        "slope",
        "dropout-epsilon",
        "cast",
        "detach",
        "stop",
        "factor",
    ],
)
def test_one_line_is_one_cause_in_every_layer_parameter_and_step(
    tmp_path: Path, benchmark: Path, faults: Faults, causes: list[tuple[str, str, int]]
) -> None:
    findings = built(tmp_path, recorded(tmp_path / "p", faults), benchmark).findings
    for finding, (code, call, count) in zip(findings, causes, strict=True):
        assert facts(finding.reasons[0])["code"] == code
        assert {name.rsplit(".", 2)[0] for name in names(finding)} == {call}
        places = {(place.step, place.node) for place in finding.places}
        assert len(places) == len(finding.places) == count - 1
        assert {finding.step, *(step for step, _ in places)} == set(range(STEPS))


def test_what_one_run_alone_calls_beside_a_cause_is_said_with_it(
    tmp_path: Path, benchmark: Path
) -> None:
    problem = recorded(tmp_path / "p", Faults(gate=True))
    (finding,) = built(tmp_path, problem, benchmark).findings
    # The benchmark's product with x, of this block; nothing of any other line.
    assert facts(finding.reasons[-1]) == {
        "code": "calls_beside",
        "names": "Tensor.__mul__.7.forward",
    }


def test_a_call_that_changes_nothing_is_no_place(tmp_path: Path, benchmark: Path) -> None:
    problem = recorded(tmp_path / "p", Faults(product=2.0))  # times one in all blocks but the last
    (finding,) = built(tmp_path, problem, benchmark).findings
    assert facts(finding.reasons[0])["code"] == "extra_calls"
    assert len(finding.places) == HALVES * STEPS - 1


def test_scores_alone_tell_the_places_of_changed_calls(tmp_path: Path, benchmark: Path) -> None:
    runs = recorded(tmp_path / "p", Faults(dropout=0.5)), tmp_path / "b"
    shutil.copytree(benchmark, runs[1])
    for run in runs:
        without(run, "sketch")
    first, *_ = built(tmp_path, *runs).findings
    assert (facts(first.reasons[0])["code"], len(first.places)) == ("argument_differs", CALLS - 1)


def test_without_stacks_nothing_is_a_place_but_findings(tmp_path: Path, benchmark: Path) -> None:
    problem = recorded(tmp_path / "p", Faults(gate=True))
    without(problem, "stack")
    made = built(tmp_path, problem, benchmark)
    assert not any(one.kinds for outcome in made.outcomes for one in outcome.findings)
    assert {one.graph for outcome in made.outcomes for one in outcome.sightings} <= {
        outcome.graphs[1] for outcome in made.outcomes
    }
    (finding,) = made.findings
    assert finding.places == ()


# --- another fault is another cause ---------------------------------------------------------------

LINE = "File model.py, line 3, in forward, \n return scaled(x, 2) * x"
ELSEWHERE = "File model.py, line 9, in mixed, \n return scaled(x, 2)"
OTHER = "File model.py, line 9, in forward, \n return scaled(x, 2)"


def written(path: Path, calls: Mapping[str, tuple[object, float]], lines: dict[str, str]) -> Path:
    """Calls by name with an argument and what they put out, each of a value of its own."""
    data: Json = {}
    for number, (name, (argument, out)) in enumerate(calls.items()):
        given = {"type": "int", "value": argument}
        data[name] = forward([tensor(10.0 * number + 3), given], [tensor(out)])
    stack = {str(n): [[name], [lines[name]]] for n, name in enumerate(data)}
    write_dump(path / "step0" / "rank0", data, dict.fromkeys(data), stack)
    return path


def causes(tmp_path: Path, ours: Mapping[str, tuple[object, float]], lines: dict[str, str]) -> Any:
    theirs = {name: (2, 20.0 * number + 5) for number, name in enumerate(lines)}
    problem = written(tmp_path / "p", ours, lines)
    made = built(tmp_path, problem, written(tmp_path / "b", theirs, lines))
    return {names(finding)[0]: names(finding)[1:] for finding in made.findings}


def test_the_same_change_at_another_line_of_one_function_is_the_same(tmp_path: Path) -> None:
    lines = {f"Torch.scaled.{n}.forward": OTHER if n == 2 else LINE for n in range(4)}
    ours = {name: (7, 20.0 * n + 9) for n, name in enumerate(lines)}
    first, *places = lines
    assert causes(tmp_path, ours, lines) == {first: places}


def test_the_same_change_in_another_function_is_another_cause(tmp_path: Path) -> None:
    lines = {f"Torch.scaled.{n}.forward": ELSEWHERE if n == 2 else LINE for n in range(4)}
    ours = {name: (7, 20.0 * n + 9) for n, name in enumerate(lines)}
    first, second, third, fourth = lines
    assert causes(tmp_path, ours, lines) == {first: [second, fourth], third: []}


def test_another_change_at_the_same_line_is_another_cause(tmp_path: Path) -> None:
    calls = ["Torch.scaled.0", "Torch.mul.0", "Torch.mul.1", "Torch.scaled.1", "Torch.scaled.2"]
    lines = {f"{call}.forward": LINE for call in calls}
    ours: dict[str, tuple[object, float]] = {}
    for number, name in enumerate(lines):
        right = 20.0 * number + 5
        # All of one call are given another argument; one of the other puts out something else.
        ours[name] = (7, right) if "scaled" in name else (2, right * (3 if "1" in name else 1))
    ours["Torch.scaled.0.forward"] = (7, 50.0)
    first, _, other, second, third = lines
    assert causes(tmp_path, ours, lines) == {first: [second, third], other: []}
