"""One call at a time: what is run, what is judged how, and what becomes a reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from msprobe.acc_check.framework import Place
from tests.msprobe.acc_check.calls import (
    Function,
    call,
    checked,
    verdicts,
    why,
    with_gradient,
)
from tests.msprobe.acc_check.faults import instead


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def test_in_place_call_is_judged_by_what_it_wrote() -> None:
    made = call("Tensor.addcdiv_", normal(8), normal(8), 1 + normal(8).abs(), value=-0.1)
    found = checked(made)
    assert found.row.forward == "pass"
    wrong = checked(made, instead(lambda s, t, u, value: s.addcdiv_(t, u, value=0.1)))
    assert wrong.row.forward == "error"


def test_in_place_call_on_a_leaf_has_its_gradient() -> None:
    made = with_gradient(call("Tensor.mul_", normal(8).requires_grad_(), 2.0), normal(8))
    assert verdicts(made) == ("pass", "pass")


def test_setting_an_item_returns_nothing_and_is_judged_by_its_argument() -> None:
    made = call("Tensor.__setitem__", normal(4, 4), [slice(0, 2), 1], 5.0)
    found = checked(made)
    assert [row.name for row in found.row.values] == ["Tensor.__setitem__.0.forward.input.0"]
    assert found.row.forward == "pass"


def test_result_given_as_out_is_judged() -> None:
    made = call("Torch.add", normal(4), normal(4), out=torch.empty(4))
    assert checked(made).row.forward == "pass"


def test_running_statistics_are_judged() -> None:
    made = call(
        "Functional.batch_norm", normal(8, 4), torch.zeros(4), torch.ones(4), None, None, True
    )

    def frozen(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor, *_: Any) -> torch.Tensor:
        out = torch.nn.functional.batch_norm(x, mean.clone(), var.clone(), None, None, True)
        mean.mul_(1)
        return out

    wrong = [row.name for row in checked(made, instead(frozen)).row.values if row.status == "error"]
    assert wrong == [
        "Functional.batch_norm.0.forward.input.1",
        "Functional.batch_norm.0.forward.input.2",
    ]


def test_tensors_in_lists_and_several_outputs_have_rows_of_their_own() -> None:
    parts = [normal(2, 3), normal(2, 3)]
    assert verdicts(call("Torch.cat", parts, 0)) == ("pass", " ")
    names = [row.name for row in checked(call("Torch.split", normal(4, 2), 2)).row.values]
    assert names == ["Torch.split.0.forward.output.0", "Torch.split.0.forward.output.1"]


@pytest.mark.parametrize(
    "made",
    [
        call("Torch.matmul", normal(4, 4).to(torch.complex64), normal(4, 4).to(torch.complex64)),
        call("Torch.bitwise_and", torch.arange(8), torch.arange(8)),
        call("Torch.logical_not", normal(8) > 0),
        call("Tensor.to", normal(8), torch.bfloat16),
        call("Tensor.float", normal(8).to(torch.float8_e4m3fn)),
        call("Torch.sum", normal(8).double()),
    ],
    ids=lambda made: made.name,
)
def test_every_kind_of_number_is_checked(made: Any) -> None:
    found = checked(made)
    assert found.row.forward == "pass", why(found)


def test_ties_may_be_broken_either_way_but_other_elements_are_wrong() -> None:
    tied = call("Torch.argmax", torch.ones(4, 8), dim=-1)
    assert verdicts(tied, instead(lambda x, dim: x.argmax(dim) + 3)) == ("pass", " ")
    made = call("Torch.argmax", normal(4, 8), dim=-1)
    assert verdicts(made, instead(lambda x, dim: x.argmin(dim))) == ("error", " ")


def test_topk_may_be_unordered_only_if_it_was_asked_to() -> None:
    def backwards(x: torch.Tensor, k: int, **kwargs: Any) -> Any:
        values, places = torch.topk(x, k)
        return values.flip(-1), places.flip(-1)

    free = call("Torch.topk", normal(4, 8), 3, sorted=False)
    assert verdicts(free, instead(backwards)) == ("pass", " ")
    bound = call("Torch.topk", normal(4, 8), 3)
    assert verdicts(bound, instead(backwards)) == ("error", " ")


def test_position_named_twice_or_outside_is_wrong() -> None:
    made = call("Torch.topk", torch.ones(1, 8), 3)

    def named(places: list[int]) -> Any:
        return instead(lambda x, k: (x[:, :3], torch.tensor([places])))

    assert verdicts(made, named([7, 5, 3])) == ("pass", " ")
    assert verdicts(made, named([7, 7, 3])) == ("error", " ")
    assert verdicts(made, named([7, 8, 3])) == ("error", " ")


@pytest.mark.parametrize("seed", range(5))
def test_dropout_is_judged_by_what_it_guarantees(seed: int) -> None:
    made = call("Functional.dropout", normal(200), 0.5)
    assert verdicts(made, seed=seed) == ("pass", " ")
    unscaled = instead(lambda x, p: torch.where(torch.rand_like(x) < p, 0.0, x))
    assert verdicts(made, unscaled, seed) == ("error", " ")
    rare = instead(lambda x, p: torch.nn.functional.dropout(x, 0.1) * 0.9 * 2)
    assert verdicts(made, rare, seed) == ("error", " ")


def test_random_call_is_judged_by_its_distribution() -> None:
    made = call("Tensor.normal_", torch.empty(4000))
    assert checked(made).row.forward == "pass"
    uniform = instead(lambda x: x.uniform_(-1.7, 1.7))
    assert checked(made, uniform).row.forward == "error"


def test_value_that_is_not_finite_is_an_error_only_where_the_reference_is() -> None:
    assert verdicts(call("Torch.log", torch.zeros(4))) == ("pass", " ")
    made = call("Torch.exp", normal(8))
    assert verdicts(made, instead(lambda x: x.exp() / 0)) == ("error", " ")


def test_overflow_of_the_format_is_no_error() -> None:
    large = torch.full((4,), 60000.0, dtype=torch.float16)
    assert verdicts(call("Torch.mul", large, large)) == ("pass", " ")


def test_call_of_autocast_runs_under_autocast() -> None:
    x, w = normal(8, 8), normal(8, 8)
    made = call("Functional.linear", x, w, expected=(x @ w).bfloat16())
    found = checked(made)
    assert found.row.values[0].device_dtype == "torch.bfloat16"
    assert found.row.forward == "pass", why(found)


def test_shape_or_format_of_another_kind_is_an_error() -> None:
    made = call("Torch.sum", normal(4, 4), 0)
    assert verdicts(made, instead(lambda x, dim: x.sum(dim, keepdim=True))) == ("error", " ")
    assert verdicts(made, instead(lambda x, dim: x.sum(dim).long())) == ("error", " ")


def refusing(_: Function) -> Function:
    def fault(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("kernel launch failed")

    return fault


def test_call_that_raises_on_the_device_alone_is_an_error() -> None:
    row = checked(call("Torch.sum", normal(4)), refusing).row
    assert row.forward == "error"
    assert "kernel launch failed" in row.message


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (call("Torch.no_such_function", normal(4)), "there is no Torch.no_such_function"),
        (call("Torch.matmul", normal(3), normal(4)), "raises on both sides"),
        (call("NPU.npu_rms_norm", normal(4)), "torch_npu is not installed"),
    ],
)
def test_call_that_cannot_be_run_says_why(made: Any, reason: str) -> None:
    row = checked(made).row
    assert row.forward == "SKIP"
    assert reason in row.message


def test_reference_in_the_format_of_the_call_allows_twice_the_rounding() -> None:
    made = call("Torch.matmul", normal(16, 64), normal(64, 16))
    assert checked(made, reference=Place("cpu")).row.forward == "pass"
    summed_in_16_bit = instead(lambda a, b: (a.bfloat16() @ b.bfloat16()).float())
    assert checked(made, summed_in_16_bit).row.forward == "error"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Torch.cumprod", (1,)),
        ("Functional.softmax", (1,)),
        ("Torch.sigmoid", ()),
        ("Torch.exp", ()),
    ],
)
def test_what_lies_below_the_normal_numbers_of_a_format_is_right(
    name: str, arguments: tuple[object, ...], dtype: torch.dtype, seed: int
) -> None:
    # Products of 32 numbers, and exponentials of -12: in float16 the units there are 6e-8 for all.
    wide = normal(4, 32) if name == "Torch.cumprod" else normal(4, 32) * 4 - 12
    made = call(name, wide.to(dtype).requires_grad_(), *arguments, backward=True)
    found = checked(made, seed=seed)
    assert (found.row.forward, found.row.backward) == ("pass", "pass"), why(found)


def test_a_wrong_product_is_wrong_there_too() -> None:
    made = call("Torch.cumprod", normal(4, 32).half().requires_grad_(), 1, backward=True)
    wrong = checked(made, instead(lambda x, dim: torch.cumprod(x * 1.2, dim)))
    assert wrong.row.forward == "error"
