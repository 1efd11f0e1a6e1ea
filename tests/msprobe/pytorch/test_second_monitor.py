"""Wrong values of the second monitor's configuration, and what both monitors follow later."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from msprobe.core.monitor_v2.trainer import TrainerMonitorV2
from msprobe.pytorch import TrainerMon
from msprobe_core.errors import ConfigError

WRONG: list[tuple[str, object]] = [
    ("monitors", ["module"]),
    ("monitors", "module"),
    ("monitors", {"module": True}),
    ("monitors", {"weight_grad": {"grad_acc_steps": float("inf")}}),
    ("monitors", {"module": {"ops": "norm"}}),
    ("monitors", {"module": {"eps": "small"}}),
    ("step_interval", 0),
    ("start_step", "1"),
    ("step_count_per_record", True),
    ("collect_times", float("nan")),
]


def written(path: Path, config: dict[str, object]) -> Path:
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_is_said_with_its_key(key: str, value: object, tmp_path: Path) -> None:
    path = written(tmp_path / "v2.json", {"output_dir": str(tmp_path), key: value})
    with pytest.raises(ConfigError, match=key):
        TrainerMonitorV2(path)


def test_digits_end_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "out"))
    for digits, expected in ((-1, 6), (10**30, 17)):
        config = {"targets": {}, "param_distribution": True, "ndigits": digits}
        monitor = TrainerMon(written(tmp_path / "v1.json", config))
        assert monitor.settings.ndigits == expected


def rows(folder: Path, pattern: str, name: str) -> dict[tuple[str, str], float]:
    found = {}
    for path in folder.glob(pattern):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                found[row["step"], row[name]] = float(row["norm"])
    return found


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_unfrozen_and_what_is_sparse_has_gradients(
    sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "v1"))
    model = nn.Sequential(nn.Embedding(8, 4, sparse=sparse), nn.Linear(4, 2))
    model[1].requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    config = {"targets": {}, "ops": ["norm"], "ndigits": 12, "wg_distribution": True}
    first = TrainerMon(written(tmp_path / "v1.json", config))
    first.set_monitor(model, optimizer)
    asked = {"weight_grad": {"enabled": True, "ops": ["norm"]}}
    given = {"output_dir": str(tmp_path / "v2"), "monitors": asked}
    second = TrainerMonitorV2(written(tmp_path / "v2.json", given))
    second.start(model=model, optimizer=optimizer)
    truth = {}
    for step in range(2):
        model[1].requires_grad_(step > 0)
        optimizer.zero_grad()
        model(torch.tensor([1, 1, 2])).square().sum().backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                dense = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
                truth[str(step), name] = dense.double().norm().item()
        optimizer.step()
    first.close()
    second.stop()
    assert len(truth) == 4
    assert rows(tmp_path / "v1", "**/grad_reduced*.csv", "name") == pytest.approx(truth)
    assert rows(tmp_path / "v2", "**/weight_grad*.csv", "module_name") == pytest.approx(truth)
