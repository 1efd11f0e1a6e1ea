"""The tables of both monitors against those that mindstudio-probe 26.2.0 wrote of the same runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from msprobe.core.monitor_v2.trainer import TrainerMonitorV2
from msprobe.pytorch import TrainerMon
from tests.msprobe.pytorch.trend_models import Block

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "monitor-26.2.0"
V1 = {
    "targets": {},
    "format": "csv",
    "ops": ["min", "max", "mean", "norm", "zeros", "nans"],
    "ndigits": 8,
    "xy_distribution": True,
    "wg_distribution": True,
    "mv_distribution": True,
    "param_distribution": True,
    "step_count_per_record": 2,
}
ABSENT_GRADIENTS = {".input", "emb.input"}
"""Rows of NaN that the former monitor made of gradients that do not exist."""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(16, 8)
        self.layers = nn.ModuleList([Block(8) for _ in range(2)])
        self.head = nn.Linear(8, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def train_v1(config: Path, *, named: bool = True) -> None:
    torch.manual_seed(1)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    monitor = TrainerMon(config)
    if named:
        monitor.set_monitor(net, optimizer, grad_acc_steps=2)
    else:
        monitor.set_monitor(net, 2, optimizer)  # the order of the documents
    for _ in range(2):
        for _ in range(2):
            ids, wanted = torch.randint(0, 16, (2, 4)), torch.randint(0, 16, (2, 4))
            loss = F.cross_entropy(net(ids).reshape(-1, 16), wanted.reshape(-1)) / 2
            loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def v1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    def run(changes: dict[str, object] | None = None, *, named: bool = True) -> Path:
        monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "out"))
        config = tmp_path / "config.json"
        config.write_text(json.dumps({**V1, **(changes or {})}))
        train_v1(config, named=named)
        (folder,) = (tmp_path / "out").iterdir()
        return folder

    return run


pytestmark = pytest.mark.filterwarnings(
    "ignore:Full backward hook is firing"
)  # torch, of the first module
KINDS = ("actv", "actv_grad", "grad_unreduced", "grad_reduced", "param_origin", "param_updated")


@pytest.mark.parametrize("named", [True, False])
def test_v1_has_the_same_columns_names_and_numbers(v1: Callable[..., Path], named: bool) -> None:
    folder = v1(named=named)
    assert folder.name.split("-rank")[1].startswith("0-")
    for kind in (*KINDS, "exp_avg", "exp_avg_sq"):
        own = rows_of(folder / f"{kind}_0-1.csv")
        theirs = rows_of(SAMPLES / "v1_plain" / f"{kind}_0-1.csv")
        if kind == "actv_grad":
            theirs = [row for row in theirs if row[1] not in ABSENT_GRADIENTS]
        if kind.startswith("exp_avg"):
            assert own[0] == theirs[0]
            # Theirs is the state before the step under the step's number: ours of the step itself.
            assert [row[1] for row in own[1:12]] == [row[1] for row in theirs[1:]]
            assert close(own[1][3:7], theirs[1][3:7])
            continue
        place = 4 if kind in ("actv", "actv_grad") else 3
        assert [row[:place] for row in own] == [row[:place] for row in theirs], kind
        assert [row[-2:] for row in own] == [row[-2:] for row in theirs], kind
        for one, other in zip(own[1:], theirs[1:], strict=True):
            assert close(one[place:-2], other[place:-2]), (kind, one, other)


def close(one: list[str], other: list[str]) -> bool:
    """Equal to eight digits here and eight decimals there, means of float32; `erf` in vectors of
    another width has another last bit (of 1: 2^-23).
    """
    return all(
        abs(float(a) - float(b)) <= 2**-23 + 1e-7 * abs(float(b)) for a, b in zip(one, other)
    )


def test_v1_keeps_significant_digits(v1: Callable[..., Path]) -> None:
    folder = v1({"ndigits": 3})
    smallest = [float(row[6]) for row in rows_of(folder / "exp_avg_sq_0-1.csv")[1:]]
    assert 0 < min(smallest) < 1e-5


def test_v1_follows_what_is_targeted(v1: Callable[..., Path]) -> None:
    folder = v1({"targets": {"layers.0.fc1": {"input": "tuple[2]:0"}}, "ops": []})
    actv = rows_of(folder / "actv_0-1.csv")
    assert actv[0] == ["vpp_stage", "name", "step", "micro_step", "norm", "shape", "dtype"]
    assert {row[1] for row in actv[1:]} == {"layers.0.fc1.input", "layers.0.fc1.output"}
    grads = rows_of(folder / "grad_reduced_0-1.csv")
    assert {row[1] for row in grads[1:]} == {"layers.0.fc1.weight", "layers.0.fc1.bias"}


def test_v1_says_the_nearest_field(
    v1: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    v1({"wg_distributon": True, "ops": ["norm", "nan"], "ur_distribution": True})
    said = capfd.readouterr().err
    assert "did you mean 'wg_distribution'?" in said
    assert "did you mean 'nans'?" in said
    assert "ur_distribution has no effect here" in said
    with pytest.raises(TypeError, match="ndigits is 'many'"):
        v1({"ndigits": "many"})


def test_v1_writes_trends_where_it_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builder.series.run import TrendRun

    monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "out"))
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**V1, "format": "trend"}))
    torch.manual_seed(1)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    monitor = TrainerMon(config)
    monitor.set_monitor(net, optimizer)
    net(torch.zeros(2, 4, dtype=torch.long)).sum().backward()
    optimizer.step()
    assert monitor._trends is not None
    monitor._trends.close()
    assert TrendRun(tmp_path / "out").line(("param", "head.weight"))[0].tolist() == [0]


def test_v2_has_the_same_columns_and_names(tmp_path: Path) -> None:
    config = json.loads((SAMPLES / "v2" / "v2.json").read_text())
    config["output_dir"] = str(tmp_path / "out")
    (tmp_path / "v2.json").write_text(json.dumps(config))
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    monitor = TrainerMonitorV2(tmp_path / "v2.json")
    monitor.start(model=net, optimizer=optimizer, grad_acc_steps=2)
    for _ in range(2):
        for _ in range(2):
            (net(torch.randn(4, 8)).pow(2).mean() / 2).backward()
        optimizer.step()
        optimizer.zero_grad()
    monitor.stop()
    for name in ("module", "weight_grad", "optimizer", "param"):
        own = rows_of(tmp_path / "out" / "rank_0" / f"{name}_step0-1.csv")
        theirs = rows_of(SAMPLES / "v2" / f"{name}_step0-1.csv")
        place = 5 if name == "weight_grad" else 4
        assert own[0] == theirs[0]
        assert [row[:place] for row in own] == [row[:place] for row in theirs], name


def test_a_monitor_never_ends_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no numbers today")

    monkeypatch.setattr("msprobe.pytorch.monitor.trainer_mon.measure", fail)
    monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "out"))
    config = tmp_path / "config.json"
    config.write_text(json.dumps(V1))
    train_v1(config)
    assert "no numbers today" in capfd.readouterr().err
