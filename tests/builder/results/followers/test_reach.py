"""Which cause a row goes back to: the module whose weight it reads, the place in its own module."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import builder
from builder import BuildOptions
from builder.results.equal_numbers import ValueReader
from builder.results.flow_cells import FlowIds
from builder.results.followers.named_causes import NamedCause
from builder.results.followers.reach import EARLIER
from builder.results.followers.rows import merge
from builder.results.followers.spread import divergent_nodes, shares_of
from builder.results.followers.states import states_of
from builder.results.followers.step import StepFollowers, StepReader, step_followers
from builder.results.followers.told_way import told_way
from builder.results.node_words import NOTHING
from builder.results.open_results import open_results
from tests.builder.dumps import backward, forward, tensor, write_dump
from tests.builder.results.followers.sides import Entry, both

OUTER, Q = "Module.attn.Attention.forward.0", "Module.attn.q.Linear.forward.0"
BEFORE, READS, AFTER = (
    "Torch.relu.0.forward",
    "Functional.linear.0.forward",
    "Torch.add.0.forward",
)


@pytest.mark.parametrize("holder", [Q, OUTER])
def test_what_reads_the_weight_of_a_cause_goes_back_to_it(tmp_path: Path, holder: str) -> None:
    for side, weight in (("problem", 9.0), ("benchmark", 5.0)):
        held = {"parameters": {"weight": tensor(weight)}}
        data = {
            BEFORE: forward([tensor(1)], [tensor(2)]),
            READS: forward([tensor(2), tensor(weight)], [tensor(3 * weight)]),
            Q: forward([tensor(2)], [tensor(3 * weight)], **(held if holder == Q else {})),
            AFTER: forward([tensor(3 * weight)], [tensor(4 * weight)]),
            OUTER: forward([tensor(1)], [tensor(4 * weight)], **(held if holder == OUTER else {})),
        }
        above = {BEFORE: OUTER, READS: Q, Q: OUTER, AFTER: OUTER, OUTER: None}
        write_dump(tmp_path / side / "step0" / "rank0", data, above)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    opened = open_results(builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path)
    index = step_followers(opened, 0, 0)
    (finding,) = opened.findings().findings
    assert (finding.kind, finding.node.name) == ("parameter_differs", holder)
    assert shares_of(index).others == 0
    found = divergent_nodes(index, [finding.node.id]).tolist()
    assert {opened.node(node).name for node in found} == {READS, Q, AFTER, OUTER}
    after = next(node for node in found if opened.node(node).name == AFTER)
    way = told_way(opened, lambda *at: step_followers(opened, *at), after)
    names = [opened.node(hop.node).name for hop in way.hops]
    assert (names, way.finding) == ([AFTER, READS, holder], finding.id)
    assert way.hops[-1].link == "weight"
    opened.close()


LINEAR, GRADIENT, UPDATE = (
    "Module.q.Linear.forward.0",
    "Module.q.Linear.parameters_grad.0",
    "Tensor.addcmul_.0.forward",
)


def test_what_an_optimizer_makes_of_a_gradient_goes_back_to_what_returned_it(
    tmp_path: Path,
) -> None:
    for side, made in (("problem", 9.0), ("benchmark", 5.0)):
        data = {
            LINEAR: forward([tensor(1)], [tensor(2)], parameters={"weight": tensor(7)}),
            READS: forward([tensor(2)], [tensor(made)]),
            READS.replace("forward", "backward"): backward([tensor(6)], [tensor(3 * made)]),
            LINEAR.replace("forward", "backward"): backward([tensor(3 * made)], [tensor(made / 2)]),
            GRADIENT: {"weight": [tensor(5 * made)]},
            UPDATE: forward([tensor(1), tensor(5 * made)], [tensor(4 * made)]),
        }
        write_dump(tmp_path / side / "step0" / "rank0", data, dict.fromkeys(data))
    sides = tmp_path / "problem", tmp_path / "benchmark"
    file = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE node SET source = NULL")  # the flow alone is to lead back
        connection.commit()
    opened = open_results(file)
    index = step_followers(opened, 0, 0)
    (named,) = (one.node.id for one in opened.findings().findings)
    assert opened.node(named).name == READS
    found = divergent_nodes(index, [named]).tolist()
    update = next(node for node in found if opened.node(node).name == UPDATE)
    way = told_way(opened, lambda *at: step_followers(opened, *at), update)
    assert [opened.node(hop.node).name for hop in way.hops][:2] == [UPDATE, GRADIENT]
    assert (way.hops[1].value, way.hops[1].output) == ("input.1", "parameters_grad.weight")
    assert way.hops[2].link == "returned"
    assert way.finding is not None
    assert shares_of(index).others == 0
    opened.close()


def layers(count: int) -> list[Entry]:
    """Layers of one call each, forward and then backward, the last layer first."""
    entries = [Entry("root", match=0)]
    for layer in range(count):
        top = len(entries)
        entries.append(Entry(f"Module.layers.{layer}.Layer.forward.0", 0, top, 0.0))
        entries.append(Entry(f"Torch.matmul.{layer}.forward", top, top + 1, 0.0, "api"))
    for layer in reversed(range(count)):
        top = len(entries)
        back = Entry(f"Module.layers.{layer}.Layer.backward.0", 0, top, 0.9, direction="backward")
        call = f"Torch.matmul.{layer}.backward"
        entries += [back, Entry(call, top, top + 1, 0.9, "api", "backward")]
    return entries


def gradients_lost(
    scores: dict[int, float], flow: list[tuple[int, int]], carried: list[int]
) -> StepFollowers:
    """Four layers; the calls of the first and third are places of one cause about gradients.

    The diagnosis lays all that differs to the first.
    """
    entries = layers(4)
    for at, score in scores.items():
        entries[at] = entries[at]._replace(score=score)
    problem, benchmark = both(entries, [e._replace(match=None) for e in entries])
    problem = replace(problem, source=np.where(problem.score > 0, 3, NOTHING))
    rows = merge(problem, benchmark)
    causes = [3, 7]
    states = states_of(rows, causes, 0.25)
    start, end = (np.array(side, dtype=np.int64) for side in zip(*[(0, 0), *flow], strict=True))
    flows: list[FlowIds] = [(start[1:], end[1:], np.ones(len(flow), dtype=bool))] * 2
    named = (NamedCause((3, 7), of_gradients=True),)
    index = StepFollowers(rows, states, StepReader(flows=lambda: flows), named)
    index.__dict__["carried"] = np.array(carried, dtype=np.int64)
    return index


def test_of_several_places_a_row_goes_back_to_that_in_its_own_module() -> None:
    index = gradients_lost({}, [], [])
    names, cause = index.rows.problem.names, index.followers.cause
    led = {names[row]: names[cause[row]] for row in range(9, len(names))}
    assert led["Module.layers.2.Layer.backward.0"] == "Torch.matmul.2.forward"
    assert led["Torch.matmul.2.backward"] == "Torch.matmul.2.forward"
    assert led["Torch.matmul.0.backward"] == "Torch.matmul.0.forward"
    # No place is in it: its gradient comes from the layers behind.
    assert led["Torch.matmul.1.backward"] == "Torch.matmul.2.forward"


def test_no_forward_value_goes_back_to_a_cause_about_gradients() -> None:
    # What the first layer reads differs since the step before, and goes on through its call.
    index = gradients_lost(dict.fromkeys(range(1, 9), 0.9), [(3, 5)], [1, 2])
    cause = index.followers.cause
    assert cause[[2, 4]].tolist() == [EARLIER, EARLIER]
    names = index.rows.problem.names
    backward = names.index("Torch.matmul.0.backward")
    assert cause[backward] == 2
    assert [step.row for step in index.steps_back(backward)] == [2]


def test_inside_a_cause_differs_what_nothing_that_differs_feeds() -> None:
    entries = [
        Entry("root", match=0),
        Entry("Module.q.Linear.forward.0", 0, 1, 0.9),
        Entry("Functional.linear.0.forward", 1, 2, 0.9, "api"),
    ]
    rows = merge(*both(entries, [e._replace(match=None) for e in entries]))
    states = states_of(rows, [2], 0.25)
    none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    told = ValueReader(2, 3, "input.1", "parameters.weight")
    for read_readers, guessed in ((lambda _: (), True), (lambda _: (told,), False)):
        read = StepReader(flows=lambda: [none, none], weights=read_readers)
        index = StepFollowers(rows, states, read, (NamedCause((2,), of_weights=True),))
        assert (index.followers.cause[2], index.followers.perhaps[2]) == (1, guessed)


@pytest.mark.parametrize("whole", ["problem", "benchmark"])
def test_what_reads_what_a_module_of_one_run_alone_made_goes_back_to_it(
    tmp_path: Path, whole: str
) -> None:
    norm, first, last = "Module.norm.Norm.forward.0", "Torch.mean.0.forward", "Torch.mul.0.forward"
    for side in ("problem", "benchmark"):
        made = 9.0 if side == whole else 2.0
        alone = {
            first: forward([tensor(2)], [tensor(5)]),
            last: forward([tensor(5)], [tensor(9)]),
            norm: forward([tensor(2)], [tensor(9)]),
        }
        data = {
            BEFORE: forward([tensor(1)], [tensor(2)]),
            **(alone if side == whole else {}),
            READS: forward([tensor(made)], [tensor(3 * made)]),
            Q: forward([tensor(made)], [tensor(3 * made)]),
            AFTER: forward([tensor(3 * made)], [tensor(4 * made)]),
        }
        above = {**dict.fromkeys(data), READS: Q}
        if side == whole:
            above |= {first: norm, last: norm}
        write_dump(tmp_path / side / "step0" / "rank0", data, above)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    opened = open_results(builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path)
    index = step_followers(opened, 0, 0)
    (finding,) = opened.findings().findings
    assert finding.node.name == norm
    found = divergent_nodes(index, [finding.node.id]).tolist()
    assert {opened.node(node).name for node in found} == {READS, Q, AFTER}
    assert shares_of(index).others + shares_of(index).perhaps == 0
    way = told_way(opened, lambda *at: step_followers(opened, *at), found[-1])
    names = [opened.node(hop.node).name for hop in way.hops]
    assert (names[-1], way.finding) == (norm, finding.id)
    opened.close()
