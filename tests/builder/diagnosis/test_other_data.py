"""Integers that no call made are the data of the run, behind a finding as before it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.reasons import BatchDiffers, sentence
from msprobe_core import PrecisionDebugger
from tests.builder.diagnosis.small_runs import A, B, Entries, findings, names
from tests.builder.dumps import Json, forward, tensor
from tests.told import facts

MODULE = "Module.fc.Linear.forward.0"
SILENT = "Tensor.triu.0.forward"
_HALF: dict[str, object] = {"dtype": "torch.bfloat16"}


def integers(highest: int, lowest: int = 0, **more: object) -> Json:
    facts = {"dtype": "torch.int64", "Mean": None, "Norm": None}
    return tensor(**facts, Max=highest, Min=lowest, **more)


def booleans(kept: bool, **more: object) -> Json:
    facts = {"dtype": "torch.bool", "Mean": None, "Norm": None}
    return tensor(**facts, Max=kept, Min=kept, **more)


def run(weight: float, labels: Json, **logits: object) -> Entries:
    """A module whose weight may differ, and a loss that reads its output and labels."""
    owned = {"weight": tensor(weight, **_HALF)}
    return {
        MODULE: forward([tensor(1, **_HALF)], [tensor(2 + weight, **_HALF)], parameters=owned),
        B: forward([tensor(6, **_HALF, **logits), labels], [tensor(3, **_HALF)]),
    }


TRACED: dict[str, object] = {"source": f"{MODULE}.output.0"}


CONSTANTS = [(integers(1, 1), integers(0, 0)), (booleans(True), booleans(False))]


@pytest.mark.parametrize(("ours", "theirs"), CONSTANTS)
def test_constants_that_no_call_made_are_data_behind_a_finding(
    tmp_path: Path, ours: Json, theirs: Json
) -> None:
    found = findings(tmp_path, run(3, ours, **TRACED), run(4, theirs, **TRACED))
    assert names(found) == [MODULE, B]
    assert facts(found[1].reasons[0])["code"] == "unrecorded_differs"


def test_constants_of_a_dump_without_makers_are_laid_to_the_finding(tmp_path: Path) -> None:
    found = findings(tmp_path, run(3, integers(1, 1)), run(4, integers(0, 0)))
    assert names(found) == [MODULE]


def test_a_weight_that_is_read_first_is_no_data(tmp_path: Path) -> None:
    """As of a function that is given the parameters of a module which is not called."""

    def reading(weight: float) -> Entries:
        read = [tensor(1), tensor(weight, requires_grad=True)]
        return {B: forward(read, [tensor(2 + weight)])}

    (found,) = findings(tmp_path, reading(3), reading(4))
    assert facts(found.reasons[0])["code"] == "input_differs"


GATHER = "Distributed.all_gather_into_tensor.0.forward"


def gathering(weight: float, owned: Json) -> Entries:
    """A gather of a shard that no call made, and a module that reads what came together."""
    return {
        GATHER: forward([tensor(weight)], [tensor(weight)]),
        MODULE: forward([tensor(1)], [tensor(2 + weight)], parameters={"weight": owned}),
    }


def test_shards_of_a_parameter_that_are_gathered_are_no_data(tmp_path: Path) -> None:
    found = findings(tmp_path, gathering(3, tensor(3)), gathering(4, tensor(4)))
    assert "batch_differs" not in {facts(each.reasons[0])["code"] for each in found}


def test_integers_that_are_gathered_may_be_data(tmp_path: Path) -> None:
    ours, theirs = (
        {GATHER: forward([integers(n)], [integers(n)]), MODULE: forward([tensor(1)], [tensor(n)])}
        for n in (3, 4000)
    )
    found = findings(tmp_path, ours, theirs)
    assert facts(found[0].reasons[0])["code"] == "batch_differs"


@pytest.mark.parametrize("side", [0, 1])
def test_constants_that_a_call_made_are_laid_to_the_finding(tmp_path: Path, side: int) -> None:
    made: list[dict[str, object]] = [{}, {}]
    made[side] = {**TRACED}
    ours, theirs = integers(1, 1, **made[0]), integers(0, 0, **made[1])
    found = findings(tmp_path, run(3, ours, **TRACED), run(4, theirs, **TRACED))
    assert names(found) == [MODULE]


def test_labels_inside_the_tolerance_are_data_behind_a_finding(tmp_path: Path) -> None:
    found = findings(tmp_path, run(3, integers(1000)), run(4, integers(999)))
    assert names(found) == [MODULE, B]
    assert facts(found[1].reasons[0]) == {"code": "integers_differ", "value": "input.1"}


def test_a_call_right_before_that_left_no_values_may_have_made_what_no_call_made(
    tmp_path: Path,
) -> None:
    ours, theirs = (
        {
            MODULE: run(4, integers(3, 1))[MODULE],
            SILENT: {},
            B: forward([tensor(6), integers(high, 1)], [tensor(high)]),
        }
        for high in (3, 9)
    )
    found = findings(tmp_path, ours, theirs)
    assert facts(found[0].reasons[0])["maker"] == SILENT
    assert "perhaps Tensor.triu.0.forward" in sentence(found[0].reasons[0])


@pytest.mark.parametrize(("beside", "code"), [(True, "unrecorded_differs"), (False, "batch")])
def test_what_a_script_reads_beside_modules_may_be_a_table_of_its_own(
    tmp_path: Path, beside: bool, code: str
) -> None:
    """As a schedule of noise is; a script without modules is fed what it reads first."""

    def entries(table: float) -> Entries:
        read = {A: forward([tensor(table)], [tensor(table**0.5)])}
        return read | ({MODULE: forward([tensor(1)], [tensor(2)])} if beside else {})

    found = findings(tmp_path, entries(4), entries(9))
    assert names(found) == [A]
    assert code in facts(found[0].reasons[0])["code"]


class Towers(nn.Module):
    """Two nets side by side, each given something else of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(8, 4), nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4))


def recorded(path: Path, seed: int, *, tokens_differ: bool = True) -> Path:
    torch.manual_seed(0)
    towers = Towers()
    image = torch.randn(6, 8, generator=torch.Generator().manual_seed(seed))
    numbers = torch.Generator().manual_seed(seed if tokens_differ else 0)
    tokens = torch.randint(0, 9, (6, 5), generator=numbers)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(towers):
        scores = towers.image(image) @ towers.text(tokens).mean(1).T
        nn.functional.cross_entropy(scores, torch.arange(6)).backward()  # type: ignore[no-untyped-call]
    debugger.close()
    return path


@pytest.mark.parametrize("tokens_differ", [True, False])
def test_other_data_of_several_nets_is_one_cause(tmp_path: Path, tokens_differ: bool) -> None:
    ours = recorded(tmp_path / "problem", 1, tokens_differ=tokens_differ)
    theirs = recorded(tmp_path / "benchmark", 0, tokens_differ=tokens_differ)
    (finding,) = builder.build(ours, theirs, tmp_path / "o").findings
    assert finding.name == "Module.image.Linear.forward.0"
    assert isinstance(finding.reasons[0], BatchDiffers)
