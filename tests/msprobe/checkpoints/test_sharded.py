"""A model that FSDP2 keeps sharded over two ranks, saved by both, is the whole model."""

from __future__ import annotations

from pathlib import Path

import torch

from msprobe.checkpoints import compare_checkpoints
from tests.msprobe_core.two_ranks import run_two_ranks

PROGRAM = """
import sys
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.LayerNorm(7), torch.nn.Linear(7, 3))
if dist.get_rank() == 0:
    torch.save(model.state_dict(), sys.argv[1] + "/whole.pt")
mesh = dist.init_device_mesh("cpu", (2,))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 6)).sum().backward()
weights, state = get_state_dict(model, optimizer)
dcp.save({"model": weights, "optimizer": state}, checkpoint_id=sys.argv[1] + "/sharded")
"""


def test_shards_of_two_ranks_are_put_together(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run_two_ranks(program, str(tmp_path))
    assert len(list((tmp_path / "sharded").glob("*.distcp"))) == 2
    result = compare_checkpoints(tmp_path / "sharded", tmp_path / "whole.pt")
    assert {row.status for row in result.rows} == {"equal"}
    assert len(result.rows) == 6

    other = torch.load(tmp_path / "whole.pt")
    other["2.weight"][2, 6] += 1  # in the second rank's shard
    torch.save(other, tmp_path / "other.pt")
    (row,) = compare_checkpoints(tmp_path / "sharded", tmp_path / "other.pt").different
    assert row.name == "2.weight"
