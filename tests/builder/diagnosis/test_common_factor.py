"""Where all elements are multiplied by one number, that number is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.reasons import Explained
from tests.builder.diagnosis.recorded_programs import Change, found, same


class Program(nn.Module):
    """Two layers; between them something happens that nothing records."""

    def __init__(self, between: Change = same) -> None:
        super().__init__()
        self.first, self.second, self.between = nn.Linear(16, 16), nn.Linear(16, 4), between

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        with torch._C.DisableTorchFunction():
            hidden = self.between(hidden)
        return self.second(hidden)


@pytest.mark.parametrize(
    ("between", "factor"),
    [
        (lambda x: 256 * x, 256.0),
        (lambda x: -x, -1.0),
        (lambda x: 1.5 * x, 1.5),
        (lambda x: x + 1.0, None),
        (lambda x: x * torch.linspace(1.0, 2.0, x.shape[-1]), None),
        (lambda x: x.flip(0), None),
    ],
)
def test_a_factor_of_all_elements_is_told_and_no_other(
    between: Change, factor: float | None, tmp_path: Path
) -> None:
    first, *_ = found(tmp_path, Program, between=between)
    told = [reason for reason in first.reasons if isinstance(reason, Explained)]
    if factor is None:
        assert all(reason.of != "factor" for reason in told)
    else:
        assert [reason.factor for reason in told] == [pytest.approx(factor, rel=1e-5)]
