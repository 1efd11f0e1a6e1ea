"""Where outputs differ, what one run alone gives a call is named, and never "its inputs agree"."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.diagnosis.finding import Finding
from builder.reasons import sentence
from tests.builder.diagnosis.small_runs import findings
from tests.builder.dumps import Json, backward, forward, tensor

CALL, MODULE = "Functional.linear.0.forward", "Module.fc.Linear.forward.0"
X, Y = tensor(2.0), tensor(3.0)
MASK = {"input_kwargs": {"attn_mask": tensor(1.0, dtype="torch.bool")}}
WEIGHTS = {"parameters": {"weight": tensor(1.5)}}
BIAS = {"parameters": {"weight": tensor(1.5), "bias": tensor(0.5)}}

GIVEN = [
    (CALL, forward([X, X], [Y]), forward([X, X, X], [X]), "input.2 is not given here"),
    (CALL, forward([X], [Y], **MASK), forward([X], [X]), "input.attn_mask is a bool tensor here"),
    (MODULE, forward([X], [Y], **BIAS), forward([X], [X], **WEIGHTS), "parameters.bias is a float"),
    (MODULE, forward([X], [Y]), forward([X, X], [X]), "input.1 is not given here"),
    (
        "Module.fc.Linear.backward.0",
        backward([X, X], [Y]),
        backward([X], [X]),
        "input.1 is a float32 tensor here and not given",
    ),
]


def said(found: list[Finding]) -> list[str]:
    return [sentence(reason) for finding in found for reason in finding.reasons]


@pytest.mark.parametrize(("name", "ours", "theirs", "told"), GIVEN)
def test_it_is_named(tmp_path: Path, name: str, ours: Json, theirs: Json, told: str) -> None:
    (finding,) = findings(tmp_path, {name: ours}, {name: theirs})
    text = said([finding])
    assert any(told in one for one in text), text
    assert not any("inputs agree" in one for one in text)


@pytest.mark.parametrize(("name", "ours", "theirs", "told"), GIVEN)
def test_it_is_nothing_where_the_outputs_agree(
    tmp_path: Path, name: str, ours: Json, theirs: Json, told: str
) -> None:
    same = {**theirs, "output": ours["output"]}
    assert told
    assert findings(tmp_path, {name: ours}, {name: same}) == []


@pytest.mark.parametrize(("ours", "theirs"), [(1e9, "inf"), ("-inf", -1e30), (1.0, "inf")])
def test_limits_that_are_not_the_same_are_named(
    tmp_path: Path, ours: object, theirs: object
) -> None:
    """Two masks mean the same where they mask; as limits they may not."""

    def clamped(limit: object, norm: float) -> Json:
        given = {"input_kwargs": {"max": {"type": "float", "value": limit}}}
        return {"Tensor.clamp.0.forward": forward([X], [tensor(norm)], **given)}

    (finding,) = findings(tmp_path, clamped(ours, 3.0), clamped(theirs, 4.0))
    assert finding.kind == "argument_differs"
    assert findings(tmp_path / "same", clamped(ours, 3.0), clamped(theirs, 3.0)) == []


def integers(largest: int, dtype: str = "torch.int64") -> Json:
    return tensor(Max=largest, Min=0, Mean=None, Norm=None, dtype=dtype)


@pytest.mark.parametrize("base", [2**53, 2**61, 10**7])
def test_integers_are_never_rounded(tmp_path: Path, base: int) -> None:
    name = "Tensor.cumsum.0.forward"
    ours, theirs = ({name: forward([X], [integers(base + more)])} for more in (1, 0))
    (finding,) = findings(tmp_path, ours, theirs)
    assert (finding.node.name, finding.kind) == (name, "introduced")
    assert findings(tmp_path / "same", ours, ours) == []


def test_places_that_a_call_ranks_are_left_to_ties(tmp_path: Path) -> None:
    name = "Tensor.argmax.0.forward"
    ours, theirs = ({name: forward([X], [integers(10**7 + more)])} for more in (1, 0))
    assert findings(tmp_path, ours, theirs) == []


def deep(zero: bool, blocks: int) -> dict[str, object]:
    """Blocks of bfloat16, one behind the other; the gradients of the last vanish in one run."""
    x, z = tensor(2.0, dtype="torch.bfloat16"), tensor(0.0, dtype="torch.bfloat16")
    names = [f"Module.layers.{i}.Block.forward.0" for i in range(blocks)]
    return {n: forward([x], [z if zero and n == names[-1] else x]) for n in names}


@pytest.mark.parametrize("blocks", [3, 87, 119, 300])
def test_zeros_never_agree_with_numbers(tmp_path: Path, blocks: int) -> None:
    (finding,) = findings(tmp_path, deep(zero=True, blocks=blocks), deep(False, blocks))
    assert finding.node.name == f"Module.layers.{blocks - 1}.Block.forward.0"
    assert finding.score == pytest.approx(1.0)
