"""A call that only one run makes is named where what it put out is read, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.reasons import ExtraReplaced
from tests.builder.diagnosis.small_runs import A, B, C, Entries, chain, findings, names
from tests.builder.dumps import backward, forward, tensor
from tests.told import facts


def test_an_extra_call_is_named_by_what_it_put_out(tmp_path: Path) -> None:
    extra = "Torch.mul.0.forward"
    ours = {
        A: forward([tensor(1)], [tensor(2)]),
        extra: forward([tensor(2)], [tensor(3.4)]),
        B: forward([tensor(3.4)], [tensor(5.1)]),
    }
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(3)])}
    found = findings(tmp_path, ours, theirs)
    assert names(found) == [extra]
    assert facts(found[0].reasons[0])["code"] == "extra_calls"
    assert found[0].score is not None and found[0].score > 0.9


@pytest.mark.parametrize(("call", "named"), [("Tensor.stride", False), ("Tensor.unknown", True)])
def test_a_call_that_tells_of_a_tensor_what_it_is_like_changes_none(
    call: str, named: bool, tmp_path: Path
) -> None:
    ours = {
        A: forward([tensor(1)], [tensor(2)]),
        f"{call}.0.forward": forward([], []),
        B: forward([tensor(3.4)], [tensor(5.1)]),
    }
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(3)])}
    found = findings(tmp_path, ours, theirs)
    assert names(found) == [f"{call}.0.forward" if named else B]


def test_a_missing_call_is_named_on_the_benchmark_side(tmp_path: Path) -> None:
    missing = "Torch.mul.0.forward"
    theirs = {
        A: forward([tensor(1)], [tensor(2)]),
        missing: forward([tensor(2)], [tensor(3.4)]),
        B: forward([tensor(3.4)], [tensor(5.1)]),
    }
    ours = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(3)])}
    found = findings(tmp_path, ours, theirs)
    assert [(f.node.name, f.side) for f in found] == [(missing, "benchmark")]


def test_of_calls_that_are_missing_the_one_that_talks_to_ranks_is_named(tmp_path: Path) -> None:
    reduced, divided = "Distributed.all_reduce.0.forward", "Tensor.__div___.0.forward"
    theirs = {
        A: forward([tensor(1)], [tensor(2)]),
        reduced: forward([tensor(2)], [tensor(6.8)]),
        divided: forward([tensor(6.8)], [tensor(3.4)]),
        B: forward([tensor(3.4)], [tensor(5.1)]),
    }
    ours = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(3)])}
    found = findings(tmp_path, ours, theirs)
    assert [(f.node.name, f.side) for f in found] == [(reduced, "benchmark")]


def test_a_call_of_a_hook_is_named_although_it_stands_behind_its_reader(tmp_path: Path) -> None:
    module, first, last = "Module.a.A.backward.0", "Torch.opb.0.backward", "Torch.opa.0.backward"
    hook = "Tensor.__mul__.7.forward"

    def entries(gradient: object, **hooks: object) -> Entries:
        return {
            A: forward([tensor(1)], [tensor(2)]),
            first: backward([tensor(1)], [tensor(3)]),
            **hooks,
            last: backward([gradient], [tensor(4)]),
            module: backward([], []),
        }

    read = tensor(1.5, source=f"{hook}.output.0")
    ours = entries(read, **{hook: forward([tensor(3)], [tensor(1.5)])})
    found = findings(tmp_path, ours, entries(tensor(3)), **{first: module, last: module})
    assert names(found) == [hook]
    assert facts(found[0].reasons[0])["code"] == "extra_calls"


def test_behind_a_finding_no_other_call_is_blamed_for_what_follows(tmp_path: Path) -> None:
    """One that overflows stands in place of another: the missing one is no second cause."""
    mine, other = "Torch.exp.0.forward", "Functional.relu.0.forward"
    huge = tensor(2.0, Max="inf", Mean="inf", Norm="inf")

    def entries(call: str, made: object, behind: float) -> Entries:
        norms = [behind, behind + 1, behind + 2, behind + 3]
        calls = zip("012", norms, norms[1:])
        after = {f"Torch.op{n}.0.forward": forward([tensor(x)], [tensor(y)]) for n, x, y in calls}
        return {
            A: forward([tensor(1)], [tensor(2)]),
            call: forward([tensor(2)], [made]),
            B: forward([made], [tensor(behind)]),
            **after,
            C: forward([tensor(2 * behind)], [tensor(behind)]),
        }

    found = findings(tmp_path, entries(mine, huge, 7), entries(other, tensor(3), 4))
    assert [(f.node.name, f.kind) for f in found] == [(mine, "non_finite")]


def replaced(call: str, made: float) -> Entries:
    calls = {call: forward([tensor(2)], [tensor(made)]), B: forward([tensor(made)], [tensor(5)])}
    return {A: forward([tensor(1)], [tensor(2)]), **calls}


def test_a_call_in_place_of_another_says_of_which(tmp_path: Path) -> None:
    mine, other = "Torch.gelu.0.forward", "Torch.silu.0.forward"
    (found,) = findings(tmp_path, replaced(mine, 3.4), replaced(other, 3))
    assert found.node.name == mine
    assert found.reasons == [ExtraReplaced(mine, other)]


def test_of_two_calls_in_one_place_the_second_is_not_named_for_its_value(tmp_path: Path) -> None:
    """The benchmark's call made what is read next, and its dump says so: one cause all the same."""
    mine, other = "Torch.gelu.0.forward", "Torch.silu.0.forward"

    def entries(call: str, made: float) -> Entries:
        told = tensor(made, source=f"{call}.output.0")
        after = {
            B: forward([tensor(made)], [tensor(made)]),
            C: forward([told], [tensor(2 * made)]),
        }
        return {A: forward([tensor(1)], [tensor(2)]), call: forward([tensor(2)], [told]), **after}

    found = findings(tmp_path, entries(mine, 3.4), entries(other, 3))
    assert names(found) == [mine]


def test_a_call_that_none_stands_in_place_of_says_nothing_of_it(tmp_path: Path) -> None:
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(3)])}
    (found,) = findings(tmp_path, replaced("Torch.gelu.0.forward", 3.4), theirs)
    assert [facts(reason)["code"] for reason in found.reasons] == ["extra_calls"]


def test_an_extra_call_that_changes_nothing_is_no_finding(tmp_path: Path) -> None:
    ours = {**chain(1, 2), "Torch.view.0.forward": forward([tensor(2)], [tensor(2)])}
    assert findings(tmp_path, ours, chain(1, 2)) == []


def test_a_whole_module_that_is_missing_is_named_as_a_module(tmp_path: Path) -> None:
    module, call = "Module.norm.Norm.forward.0", "Torch.rsqrt.0.forward"
    ours = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(5)])}
    theirs = {
        A: forward([tensor(1)], [tensor(2)]),
        call: forward([tensor(2)], [tensor(3)]),
        module: forward([tensor(2)], [tensor(3)]),
        B: forward([tensor(3)], [tensor(6)]),
    }
    (found,) = findings(tmp_path, ours, theirs, rsqrt=module)
    assert (found.node.name, found.side) == (module, "benchmark")


@pytest.mark.parametrize(
    ("call", "is_named"),
    [
        ("Tensor.roll.0.forward", True),
        ("Aten.mylib.turn.default.0.forward", True),  # an operator of a library
        ("Aten.detach.default.0.forward", False),  # what a function is made of
    ],
)
def test_operators_below_functions_are_no_changes_of_their_own(
    call: str, is_named: bool, tmp_path: Path
) -> None:
    ours = {
        A: forward([tensor(1)], [tensor(2)]),
        call: forward([], []),
        B: forward([tensor(3.4)], [tensor(5.1)]),
    }
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(3)])}
    assert (call in names(findings(tmp_path, ours, theirs))) == is_named
