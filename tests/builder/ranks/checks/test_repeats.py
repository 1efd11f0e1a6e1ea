"""What follows from copies of one parameter that came apart stands with the first finding."""

from __future__ import annotations

from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.checks.repeats import with_repeats
from builder.reasons import CopiesScaledApart, LayersEqual, OptimizerApart, ReplicasDiffer


def _differs(node: str, value: str, step: int = 0, axis: str = "dp") -> CheckFinding:
    said = ReplicasDiffer(value, axis, 0.5, "0, 1", "dp 0; dp 1")
    return CheckFinding("replica", step, node, axis, (0, 1), "dp 0; dp 1", (said,))


GRADIENT = _differs("Optimizer.layers.0.up.weight.0.forward", "input.gradient")
UPDATE = _differs("Optimizer.layers.0.up.weight.0.forward", "output.value")
NEXT = _differs("Module.layers.0.up.Linear.forward.0", "parameters.weight", step=1)


def test_an_update_and_the_next_step_follow_a_gradient() -> None:
    (only,) = with_repeats([GRADIENT, UPDATE, NEXT])
    assert only.first is GRADIENT
    assert only.later == [UPDATE, NEXT]


def test_the_same_of_another_parameter_is_of_one_cause() -> None:
    other = _differs("Optimizer.layers.1.up.weight.0.forward", "input.gradient")
    update = _differs("Optimizer.layers.1.up.weight.0.forward", "output.value")
    (only,) = with_repeats([GRADIENT, other, UPDATE, update])
    assert only.alike == [other]
    assert only.later == [UPDATE, update]


def test_the_parameters_of_layers_that_a_stage_holds_for_others_are_of_one_cause() -> None:
    def held(layer: int, value: str, ranks: tuple[int, ...]) -> CheckFinding:
        said = LayersEqual(f"parameters.{value}", str(ranks[0]), "Module.layers.1.up.Linear")
        node = f"Module.layers.{layer}.up.Linear.forward.0"
        return CheckFinding("share", 0, node, "pp", ranks, "", (said,))

    first, *alike = (held(n, value, (1,)) for n in (2, 3) for value in ("weight", "bias"))
    other = held(4, "weight", (2,))
    listed = with_repeats([first, *alike, other])
    assert [each.first for each in listed] == [first, other]
    assert listed[0].alike == alike


def test_other_axes_other_steps_and_other_kinds_stand_alone() -> None:
    others = [
        _differs("Optimizer.layers.0.up.weight.0.forward", "input.gradient", axis="tp"),
        _differs("Optimizer.layers.1.up.weight.0.forward", "input.gradient", step=1),
        _differs("Module.layers.0.up.Linear.forward.0", "parameters.bias"),
    ]
    assert [each.first for each in with_repeats([GRADIENT, *others])] == [GRADIENT, *others]


def test_gradients_that_ranks_scale_apart_follow_from_the_scale() -> None:
    said = CopiesScaledApart("dp", "24 on rank 0, 16 on rank 1")
    scale = CheckFinding("update", 0, "Tensor.div_.0.forward", "dp", (0, 1), "", (said,))
    of_other_axis = _differs("Optimizer.head.weight.0.forward", "input.gradient", axis="tp")
    listed = with_repeats([scale, GRADIENT, UPDATE, of_other_axis, NEXT])
    assert [each.first for each in listed] == [scale, of_other_axis]
    assert listed[0].behind == [GRADIENT]
    assert listed[0].later == [UPDATE, NEXT]


def test_findings_of_another_kind_are_never_repeats() -> None:
    optimizer = CheckFinding(
        "update", 1, GRADIENT.node, "dp", (0, 1), "dp 0; dp 1", (OptimizerApart(),)
    )
    listed = with_repeats([GRADIENT, optimizer])
    assert [each.first for each in listed] == [GRADIENT, optimizer]
