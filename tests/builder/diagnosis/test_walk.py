"""Each kind of finding, on the smallest pair of dumps that shows it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from builder.reasons import NonfiniteFollows
from tests.builder.diagnosis.small_runs import A, B, C, Entries, chain, findings, names
from tests.builder.dumps import backward, forward, tensor
from tests.told import facts

GROWTH = [1.0 + 10.0**-exponent for exponent in (8, 6.6, 5.4, 4.2, 3.0, 1.8)]
"""By how much the values of a chain are off, none of which makes its difference alone."""


def drifting(factors: list[float]) -> Entries:
    """A chain whose values are off by such factors; the first comes from nowhere."""
    values = [factor * (i + 1) for i, factor in enumerate(factors)]
    pairs = enumerate(pairwise(values))
    return {f"Torch.op{i}.0.forward": forward([tensor(x)], [tensor(y)]) for i, (x, y) in pairs}


def test_equal_runs_have_none(tmp_path: Path) -> None:
    assert findings(tmp_path, chain(1, 2, 3, 4), chain(1, 2, 3, 4)) == []


def test_the_call_that_introduces_a_difference_and_its_carriers(tmp_path: Path) -> None:
    found = findings(tmp_path, chain(1, 2, 3.5, 4.5), chain(1, 2, 3, 4))
    assert names(found) == [B]
    assert found[0].kind == "introduced"
    assert [node.name for node in found[0].carriers] == [C]


def test_two_independent_differences_are_two_findings(tmp_path: Path) -> None:
    ours = {A: forward([tensor(1)], [tensor(9)]), B: forward([tensor(5)], [tensor(8)])}
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(5)], [tensor(6)])}
    assert names(findings(tmp_path, ours, theirs)) == [A, B]


def test_other_input_data_is_said_at_the_first_call(tmp_path: Path) -> None:
    found = findings(tmp_path, chain(7, 8, 9), chain(1, 2, 3))
    assert names(found) == [A]
    assert facts(found[0].reasons[0])["code"] == "batch_differs"
    assert found[0].propagated_to == 1


def test_a_differing_argument_is_named_with_both_values(tmp_path: Path) -> None:
    def entry(number: float) -> Entries:
        argument = {"type": "float", "value": number}
        return {A: forward([tensor(1), argument], [tensor(number)])}

    (found,) = findings(tmp_path, entry(2.0), entry(3.0))
    assert found.kind == "argument_differs"
    assert (facts(found.reasons[0])["problem"], facts(found.reasons[0])["benchmark"]) == (
        "2.0",
        "3.0",
    )


def test_a_differing_parameter_names_the_module_that_owns_it(tmp_path: Path) -> None:
    module, call = "Module.fc.Linear.forward.0", "Functional.linear.0.forward"

    def entries(weight: float, out: float) -> Entries:
        return {
            call: forward([tensor(1), tensor(weight)], [tensor(out)]),
            module: forward([tensor(1)], [tensor(out)], parameters={"weight": tensor(weight)}),
        }

    found = findings(tmp_path, entries(5, 6), entries(7, 8), linear=module)
    assert names(found) == [module]
    assert found[0].kind == "parameter_differs"


def test_nan_is_named_where_it_is_made(tmp_path: Path) -> None:
    nan = tensor(Max="nan", Min="nan", Mean="nan", Norm="nan")
    ours = {
        A: forward([tensor(1)], [nan]),
        B: forward([nan], [nan]),
        "Torch.opb.0.backward": backward([nan], [nan]),
    }
    theirs = {
        A: forward([tensor(1)], [tensor(2)]),
        B: forward([tensor(2)], [tensor(3)]),
        "Torch.opb.0.backward": backward([tensor(4)], [tensor(5)]),
    }
    (found,) = findings(tmp_path, ours, theirs)
    assert (found.node.name, found.kind, found.propagated_to) == (A, "non_finite", 2)


def test_a_backward_fault_alone_is_named_in_the_backward_pass(tmp_path: Path) -> None:
    def entries(gradient: float) -> Entries:
        return {
            A: forward([tensor(1)], [tensor(2)]),
            "Torch.opa.0.backward": backward([tensor(3)], [tensor(gradient)]),
        }

    (found,) = findings(tmp_path, entries(4), entries(5))
    assert (found.node.name, found.kind) == ("Torch.opa.0.backward", "introduced")


def test_a_backward_difference_after_a_forward_one_is_carried(tmp_path: Path) -> None:
    def entries(out: float, gradient: float) -> Entries:
        return {
            A: forward([tensor(1)], [tensor(out)]),
            "Torch.opa.0.backward": backward([tensor(3)], [tensor(gradient)]),
        }

    (found,) = findings(tmp_path, entries(2, 4), entries(2.5, 5))
    assert (found.node.name, found.propagated_to) == (A, 1)


def test_one_call_in_another_precision_is_named(tmp_path: Path) -> None:
    def entries(dtype: str, out: float) -> Entries:
        rest = {f"Torch.rest{i}.0.forward": forward([tensor(5)], [tensor(6)]) for i in range(4)}
        return {
            **rest,
            A: forward([tensor(1)], [tensor(out, dtype=dtype)]),
            B: forward([tensor(out)], [tensor(out + 1)]),
        }

    (found,) = findings(tmp_path, entries("torch.bfloat16", 2.01), entries("torch.float32", 2.0))
    assert (found.node.name, found.kind) == (A, "precision")
    assert facts(found.reasons[0])["problem"] == "bfloat16"


def test_where_most_calls_differ_in_precision_it_is_the_setting(tmp_path: Path) -> None:
    def entries(dtype: str) -> Entries:
        return {name: forward([tensor(1)], [tensor(2, dtype=dtype)]) for name in (A, B)}

    assert findings(tmp_path, entries("torch.bfloat16"), entries("torch.float32")) == []


def test_the_module_around_a_call_carries_its_finding(tmp_path: Path) -> None:
    module = "Module.m.M.forward.0"
    ours = {A: forward([tensor(1)], [tensor(3)]), module: forward([tensor(1)], [tensor(3)])}
    theirs = {A: forward([tensor(1)], [tensor(2)]), module: forward([tensor(1)], [tensor(2)])}
    (found,) = findings(tmp_path, ours, theirs, opa=module)
    assert found.node.name == A
    assert [node.name for node in found.carriers] == [module]


def test_calls_that_read_what_other_calls_made_are_found(tmp_path: Path) -> None:
    def entries(read: float) -> Entries:
        return {
            A: forward([tensor(1)], [tensor(2)]),
            B: forward([tensor(1)], [tensor(3)]),
            C: forward([tensor(read)], [tensor(read + 4)]),
        }

    (found,) = findings(tmp_path, entries(2), entries(3))
    assert (found.node.name, found.kind) == (C, "input_differs")


def test_a_difference_that_only_drifts_is_named_where_it_is_steepest(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, drifting(GROWTH), drifting([1.0] * len(GROWTH)))
    assert facts(found.reasons[0])["code"] == "drift"


def test_a_drift_before_a_finding_does_not_come_of_it(tmp_path: Path) -> None:
    other = "Torch.other.0.forward"
    made = (
        {other: forward([tensor(50)], [tensor(66)])},
        {other: forward([tensor(50)], [tensor(60)])},
    )
    sides = drifting(GROWTH) | made[0], drifting([1.0] * len(GROWTH)) | made[1]
    drift, later = findings(tmp_path, *sides)
    assert facts(drift.reasons[0])["code"] == "drift"
    assert later.node.name == other


@pytest.mark.parametrize("read", [0.0, 1.2e-5], ids=["on equal inputs", "on inputs let pass"])
def test_a_second_fault_that_no_value_leads_to_from_the_first_is_named(
    tmp_path: Path, read: float
) -> None:
    other = "Torch.other.0.forward"

    def run(out: float, *norms: float) -> Entries:
        return {other: forward([tensor(5)], [tensor(out)]), **chain(*norms)}

    ours = run(6.6, 10, 20 * (1 + read), 30 * (1 + 2.5 * read), 80)
    assert names(findings(tmp_path, ours, run(6, 10, 20, 30, 40))) == [other, C]


def test_a_difference_behind_values_of_unknown_makers_is_laid_to_the_finding(
    tmp_path: Path,
) -> None:
    other = "Torch.other.0.forward"

    def run(out: float, read: float, made: float) -> Entries:
        return {
            other: forward([tensor(5)], [tensor(out)]),
            A: forward([tensor(read)], [tensor(made)]),
        }

    ours = run(6.6, 20 * (1 + 3e-5), 80)
    (found,) = findings(tmp_path, ours, run(6, 20, 40))
    assert (found.node.name, found.propagated_to) == (other, 1)


def test_a_parameter_without_effect_explains_nothing_else(tmp_path: Path) -> None:
    module = "Module.fc.Linear.forward.0"

    def entries(weight: float, out: float) -> Entries:
        owned = {"bias": tensor(weight)}
        return {
            module: forward([tensor(1)], [tensor(2)], parameters=owned),
            B: forward([tensor(5)], [tensor(out)]),
        }

    found = findings(tmp_path, entries(3, 9), entries(4, 8))
    assert [(f.node.name, f.is_weak) for f in found] == [(module, True), (B, False)]


def test_an_argument_that_only_one_side_gives_is_named(tmp_path: Path) -> None:
    smoothing = {"label_smoothing": {"type": "float", "value": 0.2}}
    ours = {A: {**forward([tensor(1)], [tensor(3)]), "input_kwargs": smoothing}}
    (found,) = findings(tmp_path, ours, {A: forward([tensor(1)], [tensor(2)])})
    assert found.kind == "argument_differs"
    assert facts(found.reasons[0])["benchmark"] == "not given"


def integers(highest: int) -> dict[str, object]:
    changes = {"dtype": "torch.int64", "Max": highest, "Min": 0, "Mean": None, "Norm": None}
    return tensor(**changes)


def test_integers_that_differ_inside_the_tolerance_are_other_data(tmp_path: Path) -> None:
    def run(label: int) -> Entries:
        half = {"dtype": "torch.bfloat16"}
        return {
            A: forward([tensor(1, **half)], [tensor(2, **half)]),
            B: forward([tensor(2, **half), integers(label)], [tensor(3, **half)]),
        }

    found = findings(tmp_path, run(1000), run(999))
    assert names(found) == [B]
    assert facts(found[0].reasons[0]) == {"code": "integers_differ", "value": "input.1"}


def test_the_first_inexact_call_of_an_exact_run_is_where_it_begins(tmp_path: Path) -> None:
    half = {"dtype": "torch.bfloat16"}

    def run(small: float, large: float) -> Entries:
        values = [tensor(norm, **half) for norm in (1, 2, small, large)]
        pairs = zip((A, B, C), values, values[1:])
        return {name: forward([x], [y]) for name, x, y in pairs}

    found = findings(tmp_path, run(3.08, 5.5), run(3.0, 4.0))
    assert names(found) == [B]
    assert facts(found[0].reasons[0])["code"] == "first_inexact"
    assert names(findings(tmp_path / "rounding", run(3.01, 5.5), run(3.0, 4.0))) == [C]


def test_rounding_that_picks_other_elements_is_no_finding(tmp_path: Path) -> None:
    half = {"dtype": "torch.bfloat16"}

    def run(logits: float, picked: int) -> Entries:
        return {
            A: forward([tensor(1, **half)], [tensor(logits, **half)]),
            "Torch.topk.0.forward": forward([tensor(logits, **half)], [integers(picked)]),
        }

    assert findings(tmp_path, run(2.01, 7), run(2.0, 3)) == []
    assert names(findings(tmp_path / "equal", run(2.0, 7), run(2.0, 3))) == ["Torch.topk.0.forward"]


def test_an_optimizer_may_read_a_rounded_gradient_that_was_clipped(tmp_path: Path) -> None:
    def run(gradient: float, clipped: float, share: float = 0.75) -> Entries:
        module = "Module.key.Linear"
        flowing = tensor(1.0, shape=[64, 2])
        return {
            f"{module}.forward.0": forward([tensor(1)], [tensor(2)]),
            f"{module}.backward.0": backward([flowing], [flowing]),
            f"{module}.parameters_grad.0": {"bias": [tensor(gradient, shape=[2])]},
            "Tensor.add_.0.forward": forward(
                [tensor(clipped, shape=[2], Max=clipped * share)], [tensor(1, shape=[2])]
            ),
        }

    assert findings(tmp_path, run(2e-8, 1e-8), run(5e-8, 2.5e-8)) == []
    other = findings(tmp_path / "other", run(2e-8, 1e-8, share=0.9), run(5e-8, 1.0))
    assert names(other) == ["Tensor.add_.0.forward"]


def test_a_cause_says_where_the_first_nan_behind_it_is(tmp_path: Path) -> None:
    nan = tensor(Max="nan", Min="nan", Mean="nan", Norm="nan")
    ours = {A: forward([tensor(1)], [tensor(9)]), B: forward([tensor(9)], [nan])}
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(4)])}
    first, *_ = findings(tmp_path, {**ours, C: forward([nan], [nan])}, theirs)
    assert first.node.name == A
    assert NonfiniteFollows(B, "output.0", "NaN") in first.reasons


def test_a_call_of_one_run_alone_may_make_the_first_nan(tmp_path: Path) -> None:
    nan = tensor(Max="nan", Min="nan", Mean="nan", Norm="nan")
    ours = {A: forward([tensor(1)], [tensor(2)]), C: forward([tensor(2)], [nan])}
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [tensor(4)])}
    (finding,) = findings(tmp_path, {**ours, B: forward([nan], [nan])}, theirs)
    assert finding.node.name == C
    assert [facts(reason)["code"] for reason in finding.reasons] == ["nonfinite_made"]


def test_what_the_benchmark_has_as_well_is_no_first_nan(tmp_path: Path) -> None:
    nan = tensor(Max="nan", Min="nan", Mean="nan", Norm="nan")
    ours = {A: forward([tensor(1)], [tensor(9)]), B: forward([tensor(9)], [nan])}
    theirs = {A: forward([tensor(1)], [tensor(2)]), B: forward([tensor(2)], [nan])}
    (first,) = findings(tmp_path, ours, theirs)
    assert {facts(reason)["code"] for reason in first.reasons} == {"introduced"}


def test_what_begins_in_an_argument_introduces_all_of_its_score(tmp_path: Path) -> None:
    ours = {A: forward([tensor(1), {"type": "float", "value": 2.0}], [tensor(2)])}
    theirs = {A: forward([tensor(1), {"type": "float", "value": 3.0}], [tensor(3)])}
    (finding,) = findings(tmp_path, ours, theirs)
    assert finding.kind == "argument_differs"
    assert finding.introduced == finding.score
