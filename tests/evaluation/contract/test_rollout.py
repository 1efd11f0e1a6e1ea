"""A training run against an inference run of one model, as verl and slime users compare them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.tables.comparing import TableOptions, compare_into_tables
from evaluation.contract.rollout_models import engine_of, trained
from msprobe.pytorch import PrecisionDebugger
from tests.builder.tables.recorded import Row, read_table

IDS = torch.tensor([[3, 1, 4, 1, 5]])


def record(folder: Path, model: nn.Module, ids: Tensor, task: str, *, backward: bool) -> Path:
    debugger = PrecisionDebugger(dump_path=folder, level="mix", task=task)
    with debugger.recording(model):
        made = model(ids)
        if backward:
            made.square().mean().backward()
    debugger.close()
    return folder / "step0"


def compared(sides: tuple[Path, Path], output: Path) -> list[Row]:
    result = compare_into_tables(*sides, output, TableOptions(backend="fsdp"))
    assert [outcome.error for outcome in result.outcomes] == [None]
    return read_table(result.files[0])[1]


def outputs(rows: list[Row]) -> list[Row]:
    return [row for row in rows if ".output" in row["NPU Name"] + row["Bench Name"]]


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("swapped", [False, True])
def test_parts_compare_with_what_is_fused(tmp_path: Path, task: str, swapped: bool) -> None:
    model = trained()
    training = record(tmp_path / "a", model, IDS, task, backward=True)
    engine = record(tmp_path / "b", engine_of(model), IDS[0], task, backward=False)
    sides = (engine, training) if swapped else (training, engine)
    rows = outputs(compared(sides, tmp_path / "out"))
    ours, theirs = ("Bench Name", "NPU Name") if swapped else ("NPU Name", "Bench Name")
    partner = {row[ours]: row[theirs] for row in rows}
    above = "Module.model.layers.1._fsdp_wrapped_module.self_attn"
    joined = ";".join(f"{above}.{part}_proj.Linear.forward.0.output.0" for part in "qkv")
    assert partner[joined] == "Module.model.layers.1.self_attn.qkv_proj.Linear.forward.0.output.0"
    # Nothing but the wrapper itself is alone.
    assert {name for name, other in partner.items() if "N/A" in (name, other)} <= {
        f"Module.model.layers.{layer}.Wrapped.forward.0.output.0" for layer in (0, 1)
    }
    paired = [row for row in rows if "N/A" not in (row["NPU Name"], row["Bench Name"])]
    assert len(paired) >= 17
    assert {row["Result"] for row in paired} == {"pass"}
    if task == "tensor":
        assert all(float(row["Cosine"]) > 0.9999 for row in paired)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_fault_in_a_part_is_found(tmp_path: Path, task: str) -> None:
    model = trained()
    engine = engine_of(model)
    with torch.no_grad():
        model.model.layers[1]._fsdp_wrapped_module.self_attn.k_proj.weight.mul_(1.5)
    training = record(tmp_path / "a", model, IDS, task, backward=True)
    serving = record(tmp_path / "b", engine, IDS[0], task, backward=False)
    rows = outputs(compared((training, serving), tmp_path / "out"))
    first = next(row for row in rows if row["Result"] == "error")
    assert first["Bench Name"] == (
        "Module.model.layers.1.self_attn.qkv_proj.Linear.forward.0.output.0"
    )
