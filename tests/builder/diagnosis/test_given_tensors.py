"""A call that is given a tensor more, or less, and puts out something else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from builder.reasons import sentence
from tests.builder.diagnosis.recorded_programs import Change, found, same


class Biased(nn.Module):
    """A projection that is given a bias where `more` asks for one, and passes it as a keyword."""

    def __init__(self, more: Change = same, masked: Change = same, silent: Change = same) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(16, 16)), nn.Parameter(torch.randn(16))
        self.more, self.masked, self.silent = more, masked, silent

    def forward(self, x: Tensor) -> Tensor:
        given = (self.bias,) if self.more is not same else ()
        x = torch.sin(F.linear(x, self.weight, *given))
        zeros = (torch.zeros(16),) if self.silent is not same else ()
        x = torch.cos(F.linear(x, self.weight, *zeros))
        ahead = x[None, None]
        mask = torch.ones(32, 32, dtype=torch.bool).tril() if self.masked is not same else None
        return F.scaled_dot_product_attention(ahead, ahead, ahead, attn_mask=mask)


def twice(x: Tensor) -> Tensor:
    return 2 * x


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "more",
            "the argument bias (input.2) is a float32 tensor here and not given in the benchmark",
        ),
        ("masked", "input.attn_mask is a bool tensor here and"),
    ],
)
def test_what_one_run_alone_is_given_is_the_argument(
    tmp_path: Path, change: str, says: str
) -> None:
    (cause,) = found(tmp_path, Biased, **{change: twice})
    assert says in sentence(cause.reasons[0])


def test_a_tensor_that_changes_nothing_is_no_cause(tmp_path: Path) -> None:
    assert found(tmp_path, Biased, silent=twice) == ()
