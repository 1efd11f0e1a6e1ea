"""What ran right before a call and left no values is named where it made nothing else."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.builder.diagnosis.recorded_programs import Change, found, same
from tests.told import facts


class Masked(nn.Module):
    """Attention over heads that are transposed right before."""

    def __init__(self, attends: Change = same) -> None:
        super().__init__()
        self.project = nn.Linear(16, 16)
        self.attends = attends

    def forward(self, x: Tensor) -> Tensor:
        with torch._C.DisableTorchFunction():
            keep = self.attends(torch.arange(32) < 20)
        heads = self.project(x).unflatten(-1, (4, 4)).transpose(0, 1)
        heads = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=keep[None, None])
        return torch.sin(heads.transpose(0, 1).flatten(1))


def flipped(x: Tensor) -> Tensor:
    return ~x


def test_what_moved_another_input_is_no_maker_of_the_mask(tmp_path: Path) -> None:
    (cause,) = found(tmp_path, Masked, attends=flipped)
    assert facts(cause.reasons[0])["code"] == "unrecorded_differs"
    assert "maker" not in facts(cause.reasons[0])
