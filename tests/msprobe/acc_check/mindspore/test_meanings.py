"""PyTorch's words for MindSpore's calls, held to what MindSpore has computed and recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from msprobe.acc_check.framework import Place
from msprobe.acc_check.inputs import Source, make_inputs
from msprobe.acc_check.mindspore.meanings import meaning_of
from msprobe.acc_check.mindspore.primitives import primitive_of
from msprobe.acc_check.mindspore.words import Meaning
from msprobe.acc_check.plan import Call, Plan, read_plan
from msprobe.acc_check.run import run
from msprobe.acc_check.values import NotReproducible

ROUNDING = 2e-5
WITHOUT_REFERENCE = {"Primitive.layer_norm.LayerNorm", "MintDistributed.all_reduce"}


def meaning(call: Call) -> Meaning:
    if call.prefix == "Primitive":
        return primitive_of(call).meaning
    return meaning_of(call.prefix, call.api)


@pytest.fixture(scope="module")
def recorded(mindspore_dumps: Path) -> Plan:
    """The calls of a transformer whose inputs and results are all on disk."""
    (dump,) = (mindspore_dumps / "tensor" / "mindspore").rglob("dump.json")
    return read_plan(dump)


def arrays(plan: Plan, records: object) -> Iterator[torch.Tensor]:
    assert plan.tensors is not None
    for record in records if isinstance(records, list) else []:
        if isinstance(record, dict) and "data_name" in record:
            yield torch.from_numpy(np.load(plan.tensors / record["data_name"]))


def test_what_mindspore_computed_is_what_pytorch_computes_in_float64(recorded: Plan) -> None:
    checked, reasons = set(), {}
    for call in recorded.calls:
        try:
            found = meaning(call)
        except NotReproducible as reason:
            reasons[call.name] = str(reason)
            continue
        inputs = make_inputs(call, Source(recorded.tensors, 0))
        results = run(found.function, found.api, inputs, Place(wide=True))
        ours = [each for each in results.outputs.values() if isinstance(each, torch.Tensor)]
        theirs = [*arrays(recorded, call.forward["output"])]
        if call.backward is not None and call.prefix != "Primitive":  # theirs are in reverse
            ours += [each for each in results.gradients.values() if each is not None]
            theirs += arrays(recorded, call.backward["output"])
        assert len(ours) == len(theirs), call.name
        for one, other in zip(ours, theirs):
            assert one.shape == other.shape, call.name
            distance = (one.double() - other.double()).norm()
            assert distance <= ROUNDING * other.double().norm() + 1e-7, call.name
        checked.add(f"{call.prefix}.{call.api}")
    assert {"Mint.matmul", "MintFunctional.softmax", "Functional.cross_entropy"} <= checked
    assert {"Primitive.matmul.MatMul", "Tensor.__mul__", "Functional.gelu"} <= checked
    assert all("settings" in each or "transposed" in each for each in reasons.values()), reasons


def entry(prefix: str, api: str, *shapes: list[int], made: list[int]) -> Call:
    def record(shape: list[int]) -> dict[str, Any]:
        return {"type": "mindspore.Tensor", "dtype": "Float32", "shape": shape}

    forward = {"input_args": [*map(record, shapes)], "output": [record(made)]}
    return Call(f"{prefix}.{api}.0", prefix, api, forward)


def test_whether_a_product_transposes_shows_in_its_shapes() -> None:
    found = primitive_of(entry("Primitive", "matmul.MatMul", [3, 8], [16, 8], made=[3, 16]))
    assert found.settings == {"transpose_a": False, "transpose_b": True}
    with pytest.raises(NotReproducible, match="does not show in their shapes"):
        primitive_of(entry("Primitive", "matmul.MatMul", [8, 8], [8, 8], made=[8, 8]))
    with pytest.raises(NotReproducible, match="settings that a LayerNorm was made with"):
        primitive_of(entry("Primitive", "norm.LayerNorm", [3, 8], [8], made=[3, 8]))


@pytest.mark.parametrize(
    ("prefix", "api"),
    [("Tensor", "asnumpy"), ("Functional", "print_"), ("Mint", "load"), ("Nowhere", "add")],
)
def test_a_call_without_meaning_says_so(prefix: str, api: str) -> None:
    with pytest.raises(NotReproducible, match=f"nothing .* computes what {prefix}.{api} does"):
        meaning_of(prefix, api)


X = torch.arange(24, dtype=torch.float64).reshape(2, 3, 4) / 7 - 1
ROWS = torch.tensor([[2, 0]], dtype=torch.int32)
CASES = [
    # MindSpore's call and its arguments, by keywords of its own too, and what NumPy makes of it.
    ("Functional.transpose", (X, [2, 0, 1]), {}, X.numpy().transpose(2, 0, 1)),
    ("Functional.std", (X, 1), {"keepdims": True}, X.numpy().std(1, keepdims=True)),
    ("Functional.var", (X,), {"ddof": 1}, X.numpy().var(ddof=1)),
    ("Functional.mean", (X, [0, 2]), {"keep_dims": True}, X.numpy().mean((0, 2), keepdims=True)),
    ("Functional.sum", (X, None, False), {}, X.numpy().sum()),
    ("Functional.prod", (X,), {"axis": 1}, X.numpy().prod(1)),
    ("Functional.expand_dims", (X, 1), {}, X.numpy()[:, None]),
    ("Functional.concat", ([X, X],), {"axis": -1}, np.concatenate([X, X], -1)),
    ("Functional.equal", (X, X), {}, np.ones_like(X, dtype=bool)),
    ("Functional.leaky_relu", (X,), {"alpha": 0.5}, np.where(X > 0, X, X * 0.5)),
    ("Functional.leaky_relu", (X,), {}, np.where(X > 0, X, X * 0.2)),
    ("Functional.gather", (X, ROWS, 1), {}, X.numpy()[:, [[2, 0]]]),
    ("Functional.flatten", (X,), {}, X.numpy().reshape(2, -1)),
    ("Functional.one_hot", (torch.tensor([1, 0]), 2, 5, 3), {}, np.array([[3, 5], [5, 3]])),
    ("Functional.smooth_l1_loss", (X, X - 3), {}, np.full((2, 3, 4), 2.5)),
    ("Functional.rms_norm", (X, X[0, 0]), {}, None),
    ("MintFunctional.mse_loss", (X, X - 2, "sum"), {}, np.array(4.0 * 24)),
    ("MintFunctional.softmax", (X, 1), {}, None),
    ("Tensor.transpose", (X, 0, 2), {}, X.numpy().swapaxes(0, 2)),
    ("Tensor.transpose", (X, [0, 2, 1]), {}, X.numpy().transpose(0, 2, 1)),
    ("Tensor.mean", (X,), {"axis": 2}, X.numpy().mean(2)),
    ("Mint.permute", (X, [1, 0, 2]), {}, X.numpy().transpose(1, 0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs", "wanted"), CASES)
def test_arguments_mean_what_they_mean_in_mindspore(
    name: str, args: Any, kwargs: Any, wanted: Any
) -> None:
    made = meaning_of(*name.split(".")).function(*args, **kwargs)
    first = made[0] if isinstance(made, tuple) else made
    if wanted is None:
        x = X.numpy()
        root = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        exp = np.exp(x)
        wanted = x / root * x[0, 0] if "rms" in name else exp / exp.sum(1, keepdims=True)
    np.testing.assert_allclose(first.numpy(), wanted, rtol=1e-12)


def test_tensors_without_a_word_on_gradients_need_those_that_were_recorded(tmp_path: Path) -> None:
    tensor = {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2], "Max": 1.0, "Min": 0.0}
    data = {
        "Mint.where.0.forward": {
            "input_args": [{**tensor, "dtype": "Bool"}, tensor, tensor],
            "input_kwargs": {},
            "output": [tensor],
        },
        "Mint.where.0.backward": {"input": [tensor], "output": [None, None, tensor]},
        "Jit.step.0.forward": {"input_args": [tensor], "input_kwargs": {}, "output": [tensor]},
        "MintDistributed.all_reduce.0.forward": {"input_args": [tensor], "output": []},
    }
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"framework": "mindspore", "data": data}))
    plan = read_plan(path)
    assert plan.framework == "mindspore"
    inputs = make_inputs(plan.calls[0], Source(None, 0))
    assert [each.requires_grad for _, each in inputs.tensors()] == [False, False, True]
    assert plan.calls[1].skip is not None and "compiled code" in plan.calls[1].skip
    assert plan.calls[2].skip is not None and "communication" in plan.calls[2].skip
