"""A twin rounds otherwise by a last bit or two, draws no number of the program, and ends early."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.series.run import TrendRun
from msprobe.pytorch import Trends
from msprobe.pytorch.trend_twin import Twin, rounded_otherwise


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.LSTM(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)[0]
        return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_half_of_the_elements_are_off_by_a_last_bit_or_two(dtype: torch.dtype) -> None:
    model, x = nn.Linear(32, 32).to(dtype), torch.randn(8, 32, dtype=dtype)
    plain = model(x)
    with rounded_otherwise():
        moved = model(x)
    apart = (moved - plain).abs() / plain.abs()
    eps = torch.finfo(dtype).eps
    assert 0 < apart.max() <= 2 * eps
    assert 0.3 < float((apart > 0).float().mean()) < 0.7
    assert torch.equal(model(x), plain)


def test_each_call_rounds_other_elements_and_no_random_number_is_taken() -> None:
    model, x = Two(), torch.randn(3, 2, 4)
    state = torch.random.get_rng_state()
    with rounded_otherwise():
        one, other = model(x), model(x)
    assert not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_program_that_is_a_twin_ends_after_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in Twin(tmp_path / "twins", 5, rounds=True).environment.items():
        monkeypatch.setenv(name, value)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trends = Trends(tmp_path / "mine", model, optimizer)  # type: ignore[arg-type]
    with pytest.raises(SystemExit) as ended:
        for _ in range(20):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            trends.step()
    assert ended.value.code == 0
    assert len(TrendRun(tmp_path / "twins" / "mine").steps) == 5
    assert not (tmp_path / "mine").exists()
    plain = model(torch.ones(2, 4))
    assert torch.equal(plain, model(torch.ones(2, 4)))
