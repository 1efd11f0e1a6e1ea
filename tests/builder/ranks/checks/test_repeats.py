"""What follows from copies of one parameter that came apart stands with the first finding."""

from __future__ import annotations

from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.checks.repeats import with_repeats
from builder.reasons import OptimizerApart, ReplicasDiffer


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


def test_other_parameters_and_other_axes_stand_alone() -> None:
    others = [
        _differs("Optimizer.layers.1.up.weight.0.forward", "input.gradient"),
        _differs("Optimizer.layers.0.up.weight.0.forward", "input.gradient", axis="tp"),
        _differs("Module.layers.0.up.Linear.forward.0", "parameters.bias"),
    ]
    assert [each.first for each in with_repeats([GRADIENT, *others])] == [GRADIENT, *others]


def test_findings_of_another_kind_are_never_repeats() -> None:
    optimizer = CheckFinding(
        "update", 1, GRADIENT.node, "dp", (0, 1), "dp 0; dp 1", (OptimizerApart(),)
    )
    listed = with_repeats([GRADIENT, optimizer])
    assert [each.first for each in listed] == [GRADIENT, optimizer]
