"""Gradients of several passes through one graph, and what autograd adds up of them."""

from __future__ import annotations

import numpy as np
import pytest

from builder.results.flow_cells import FlowIds
from builder.results.followers.rows import MergedRows, merge
from builder.results.followers.spread import shares_of
from builder.results.followers.states import states_of
from builder.results.followers.step import StepFollowers, StepReader
from tests.builder.results.followers.sides import Entry, both

ROOT = Entry("root", match=0)
# A value is made by the first call and read by the second, of which the second pass is another.
MADE, READ = "Torch.tanh.0", "Torch.sigmoid.0"
MADE_AGAIN, READ_AGAIN = "Torch.tanh@2.0.backward", "Torch.sigmoid@2.0.backward"
UPDATE = "Tensor.lerp_.0.forward"


def call(name: str, place: int | None, score: float = 0.0, reads: float = 0.0) -> Entry:
    direction = "backward" if name.endswith("backward") else "forward"
    return Entry(name, 0, place, score, "api", direction, reads)


PASS = [
    ROOT,
    call(f"{MADE}.forward", 1),
    call(f"{READ}.forward", 2),
    call(f"{READ}.backward", 3),
    call(f"{MADE}.backward", 4),
]


def unmatched(entries: list[Entry]) -> list[Entry]:
    return [entry._replace(match=None) for entry in entries]


def benchmark_alone_goes_back_again() -> tuple[MergedRows, list[FlowIds]]:
    """Both runs make the second gradient of the maker, the benchmark alone that of the reader."""
    problem = [*PASS, call(MADE_AGAIN, 6, 0.9, 0.9), call(UPDATE, 7, 0.9, 0.9)]
    benchmark = [*PASS, call(READ_AGAIN, None), call(MADE_AGAIN, None), call(UPDATE, None)]
    rows = merge(*both(problem, unmatched(benchmark)))
    flows = []
    for side in (rows.problem, rows.benchmark):
        made, read = side.id[[1, 2]]
        flows.append((np.array([made]), np.array([read]), np.array([True])))
    return rows, flows


def followers_of(cause: str) -> StepFollowers:
    rows, flows = benchmark_alone_goes_back_again()
    node = rows.problem.id[rows.problem.names.index(cause)]
    states = states_of(rows, [int(node)], 0.25)
    return StepFollowers(rows, states, StepReader(flows=lambda: flows))


def test_gradients_of_any_pass_and_run_belong_to_their_forward_call() -> None:
    rows, _ = benchmark_alone_goes_back_again()
    names = rows.names_of(np.arange(len(rows)))
    told = dict(zip(names, rows.forward_call.tolist(), strict=True))
    assert [told[f"{READ}.backward"], told[READ_AGAIN], told[MADE_AGAIN]] == [2, 2, 1]


@pytest.mark.parametrize(
    ("cause", "surely"),
    [
        (f"{READ}.forward", 1),  # through the pass that only the benchmark makes
        (f"{MADE}.forward", 1),  # its own gradient
        (f"{READ}.backward", 0),  # another pass
    ],
)
def test_a_gradient_goes_back_over_the_pass_that_one_run_alone_makes(
    cause: str, surely: int
) -> None:
    found = shares_of(followers_of(cause))
    assert (found.causes[0].count, found.perhaps, found.others) == (surely, surely, 2 - 2 * surely)


def test_what_autograd_added_up_is_perhaps_of_the_last_gradient_that_differs() -> None:
    differing = [*PASS[:4], call(f"{MADE}.backward", 4, 0.9), call(UPDATE, 5, 0.9, 0.9)]
    sound = [*PASS, call(UPDATE, 5, 0.9, 0.9)]
    shares = []
    for problem in (differing, sound):
        rows = merge(*both(problem, unmatched(problem)))
        states = states_of(rows, [int(rows.problem.id[4])], 0.25)
        found = shares_of(StepFollowers(rows, states))
        shares.append((found.causes[0].count, found.perhaps, found.others))
    assert shares == [(1, 1, 0), (0, 0, 1)]
