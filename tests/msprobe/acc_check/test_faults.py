"""Wrong operators are found, each alone; right ones raise no alarm in any format."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.msprobe.acc_check.calls import Fault, Function, checked, sample_calls, why
from tests.msprobe.acc_check.faults import Family, families, instead, on_output

FAMILIES = families()
KINDS = list(FAMILIES[0].faults())
SEEDS = range(20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_fault_is_found(family: Family, kind: str) -> None:
    row = checked(family.made, family.faults()[kind]).row
    assert "error" in (row.forward, row.backward), row


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_right_operator_of_a_family_passes(family: Family) -> None:
    found = checked(family.made)
    assert (found.row.forward, found.row.backward) == ("pass", "pass"), why(found)


def test_wrong_gradient_leaves_the_forward_verdict_alone() -> None:
    row = checked(FAMILIES[0].made, FAMILIES[0].faults()["wrong gradient"]).row
    assert (row.forward, row.backward) == ("pass", "error")


def _tanh_gelu(_: Function) -> Function:
    def faulty(x: torch.Tensor, **_kwargs: Any) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")

    return faulty


def _backwards_topk(function: Function) -> Function:
    def faulty(*args: Any) -> tuple[torch.Tensor, torch.Tensor]:
        values, places = function(*args)
        return values.flip(-1), places.flip(-1)

    return faulty


RECORDED: dict[str, tuple[str, Fault]] = {
    "gelu by tanh": ("Functional.gelu.0", _tanh_gelu),
    "linear scaled": ("Functional.linear.0", on_output(lambda out: out * 1.003)),
    "softmax NaN": ("Functional.softmax.0", on_output(lambda out: out * float("nan"))),
    "layer_norm scaled": ("Functional.layer_norm.0", on_output(lambda out: out * 1.5)),
    "conv1d shifted": ("Functional.conv1d.0", on_output(lambda out: out + 1e-2)),
    "topk backwards": ("Torch.topk.0", _backwards_topk),
    "argmax 0": ("Torch.argmax.0", on_output(lambda out: out * 0)),
}


@pytest.mark.parametrize("fault", RECORDED)
def test_faults_of_the_recorded_sample_are_found(fault: str) -> None:
    name, put_in = RECORDED[fault]
    row = checked(sample_calls()[name], put_in).row
    assert "error" in (row.forward, row.backward), row


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_right_calls_of_the_sample_never_alarm(dtype: str) -> None:
    alarms = []
    for seed in SEEDS:
        for made in sample_calls(dtype).values():
            found = checked(made, seed=seed)
            if {found.row.forward, found.row.backward} - {"pass", " "}:
                alarms.append(f"seed {seed}: {why(found)}")
    assert alarms == []


def test_bfloat16_product_that_sums_in_bfloat16_is_found() -> None:
    def summed_in_bfloat16(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
        for k in range(a.shape[1]):
            total = total + a[:, k : k + 1] * b[k : k + 1]
        return total

    from tests.msprobe.acc_check.calls import call

    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(32, 32, generator=generator).bfloat16() for _ in range(2))
    made = call("Torch.matmul", x, y)
    assert checked(made).row.forward == "pass"
    assert checked(made, instead(summed_in_bfloat16)).row.forward == "error"


def test_common_factor_below_one_unit_of_bfloat16_is_found() -> None:
    from tests.msprobe.acc_check.calls import call

    generator = torch.Generator().manual_seed(1)
    x = torch.randn(64, 64, generator=generator).bfloat16()
    scaled = instead(lambda a, b: ((a.float() @ b.float()) * 1.003).bfloat16())
    row = checked(call("Torch.matmul", x, x), scaled).row
    assert row.forward == "error"
