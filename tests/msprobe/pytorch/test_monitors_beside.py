"""What both monitors do to a training: nothing; gradients of modules against torch's own."""

from __future__ import annotations

import contextlib
import copy
import csv
import gc
import json
import os
import pickle
import signal
import weakref
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

from msprobe.core.monitor_v2.trainer import TrainerMonitorV2
from msprobe.pytorch import TrainerMon, Trends


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(8), nn.Linear(8, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.fc(self.norm(x)) * 2


class Two(nn.Module):
    """Takes two tensors and gives two."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.fc(x) * y, self.fc(y)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.block, self.two = nn.Linear(8, 8), Residual(), Two()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.block(self.first(x))
        one, other = self.two(x, x * 2)
        return one + other


class InPlace(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 8), nn.SiLU(inplace=True)
        )


def made(kind: type[nn.Module]) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = kind()
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def train(net: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 2) -> None:
    for number in range(steps):
        optimizer.zero_grad()
        x = torch.full((2, 4, 8), number + 1.0, requires_grad=True)
        F.mse_loss(net(x), torch.zeros(2, 4, 8)).backward()
        optimizer.step()


class V1:
    """Follows by TrainerMon."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(folder))
        config = folder / "config.json"
        config.write_text(json.dumps({"targets": {}, "xy_distribution": True, "ops": ["norm"]}))
        self.folder, self._monitor = folder, TrainerMon(config)

    def start(self, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._monitor.set_monitor(net, optimizer)

    def stop(self) -> None:
        self._monitor.close()

    def rows(self) -> list[dict[str, str]]:
        return _rows(sorted(self.folder.glob("*-rank0-*/actv_grad_*.csv")))


class V2:
    """Follows by TrainerMonitorV2."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        config = folder / "config.json"
        config.write_text(json.dumps({"output_dir": str(folder), "monitors": {"module": {}}}))
        self.folder, self._monitor = folder, TrainerMonitorV2(config)

    def start(self, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._monitor.start(model=net, optimizer=optimizer)

    def stop(self) -> None:
        self._monitor.stop()

    def rows(self) -> list[dict[str, str]]:
        found = _rows(sorted(self.folder.glob("rank_0/module_*.csv")))
        return [row for row in found if row["scope"] == "backward"]


def _rows(files: list[Path]) -> list[dict[str, str]]:
    found = []
    for file in files:
        with file.open(newline="") as lines:
            found += csv.DictReader(lines)
    return found


@pytest.fixture(params=[V1, V2])
def monitor(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> V1 | V2:
    return request.param(tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", [InPlace, Net])
def test_the_training_runs_with_the_same_bits_and_no_hook_is_left(
    monitor: V1 | V2, kind: type[nn.Module]
) -> None:
    of_others = _global_hooks()
    alone, optimizer = made(kind)
    train(alone, optimizer)
    net, optimizer = made(kind)
    monitor.start(net, optimizer)
    train(net, optimizer)
    pickle.dumps(net)
    train(copy.deepcopy(net), torch.optim.SGD(net.parameters(), lr=0.01))
    monitor.stop()
    assert all(torch.equal(a, b) for a, b in zip(alone.parameters(), net.parameters(), strict=True))
    hooks = [name for m in net.modules() for name in vars(m) if name.endswith("_hooks")]
    assert not [name for m in net.modules() for name in hooks if getattr(m, name, None)]
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    assert _global_hooks() == of_others


def _global_hooks() -> list[int]:
    """The hooks on all modules; another test's training may still be followed."""
    module = torch.nn.modules.module
    return [*module._global_forward_hooks, *module._global_forward_pre_hooks]


def test_gradients_of_modules_are_those_of_full_hooks(tmp_path: Path, monitor: V1 | V2) -> None:
    wanted: dict[str, set[float]] = defaultdict(set)
    net, optimizer = made(Net)
    for name, module in net.named_modules():

        def note(_: object, sent: Any, received: Any, name: str = name) -> None:
            for side, tensors in (("input", sent), ("output", received)):
                for tensor in tensors:
                    if tensor is not None:
                        wanted[f"{name}.{side}"].add(round(tensor.double().norm().item(), 5))

        module.register_full_backward_hook(note)
    train(net, optimizer, 1)
    net, optimizer = made(Net)
    monitor.start(net, optimizer)
    train(net, optimizer, 1)
    monitor.stop()
    found: dict[str, set[float]] = defaultdict(set)
    for row in monitor.rows():
        name = row.get("name") or row["module_name"].replace(".grad_", ".")
        module, _, side = name.rpartition(".")
        if side.isdigit():  # v2: <module>.input.0
            module, _, side = module.rpartition(".")
        found[f"{module}.{side.partition('_')[0]}"].add(round(float(row["norm"]), 5))
    # A tensor that a module is given thrice has one gradient; full hooks tell three parts of it.
    shared = "block.attention.input"
    assert shared in wanted
    del wanted[shared]
    found.pop(shared, None)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert sorted(found[name]) == pytest.approx(sorted(values), rel=1e-5), name  # 6 digits


class Checkpointed(nn.Module):
    """Calls some of its layers inside a checkpoint, or one of them after an exception."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.head, self.body, self.tail = nn.Linear(8, 8), InPlace(), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.head(x)
        if self.how == "raises":
            with contextlib.suppress(RuntimeError):
                self.body(x[..., :3])
        if self.how == "without a graph":
            with torch.no_grad():
                without = self.body(x)
            x = x + without
        is_checkpoint = self.how in ("reentrant", "not reentrant")
        inner = checkpoint(self.body, x, use_reentrant=self.how == "reentrant")
        x = inner if is_checkpoint else self.body(x)
        return self.tail(x)


def gradients_of(monitor: V1 | V2, how: str) -> dict[str, float]:
    """Of inputs and outputs, the norms of the last that are written of a step."""
    torch.manual_seed(0)
    net = Checkpointed(how)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    monitor.start(net, optimizer)
    x = torch.ones(4, 8, requires_grad=True)
    alive = weakref.ref(x)
    F.mse_loss(net(x), torch.zeros(4, 8)).backward()
    del x
    assert how == "raises" or alive() is None
    optimizer.step()
    monitor.stop()
    names = [row.get("name") or row["module_name"] for row in monitor.rows()]
    return dict(zip(names, (float(row["norm"]) for row in monitor.rows()), strict=True))


@pytest.mark.parametrize("kind", [V1, V2])
@pytest.mark.parametrize("how", ["reentrant", "not reentrant", "raises"])
def test_gradients_are_those_without_checkpoint_or_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, kind: type[V1 | V2]
) -> None:
    found = {}
    for each in ("plain", how):
        folder = tmp_path / each
        folder.mkdir()
        found[each] = gradients_of(kind(folder, monkeypatch), each)
    assert len(found["plain"]) == 2 * len([*Checkpointed(how).modules()])
    assert found[how] == pytest.approx(found["plain"])


def test_modules_around_calls_without_a_graph_have_gradients(monitor: V1 | V2) -> None:
    found = gradients_of(monitor, "without a graph")
    assert len(found) == 2 * len([*Checkpointed("plain").modules()])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_child_leaves_the_tables_to_its_parent(monitor: V1 | V2) -> None:
    net, optimizer = made(Net)
    monitor.start(net, optimizer)
    train(net, optimizer, 1)
    process = os.fork()
    if process == 0:
        signal.alarm(60)  # threads of OpenMP do not outlive a fork: a product of many would wait
        code = 1
        try:
            train(net, optimizer, 2)
            monitor.stop()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    train(net, optimizer, 1)
    monitor.stop()
    assert {int(row["step"]) for row in monitor.rows()} == {0, 1}
    outputs = [r for r in monitor.rows() if "fc" in (r.get("name") or r["module_name"])]
    assert len({tuple(row.values()) for row in outputs}) == len(outputs)


class Calls(TorchFunctionMode):
    """A mode of the user's, which notes every call of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def calls_seen(net: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    with Calls() as mode:
        train(net, optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    return mode.seen


@pytest.mark.parametrize("kind", [InPlace, Net])
def test_a_mode_of_the_user_sees_what_it_sees_alone(
    monitor: V1 | V2, kind: type[nn.Module], tmp_path: Path
) -> None:
    alone = calls_seen(*made(kind))
    net, optimizer = made(kind)
    monitor.start(net, optimizer)
    followed = calls_seen(net, optimizer)
    monitor.stop()
    net, optimizer = made(kind)
    with Trends(tmp_path / "trends", net, optimizer, activations="all"):
        by_trends = calls_seen(net, optimizer)
    assert alone and followed == alone
    assert by_trends == alone


@pytest.mark.parametrize(
    "net",
    [
        nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(8)),
        nn.Sequential(nn.Linear(8, 8), torch.nn.Sequential(nn.Flatten(), nn.LazyLinear(32))),
    ],
)
def test_parameters_that_get_their_shape_later_are_followed(
    monitor: V1 | V2, net: nn.Module
) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    monitor.start(net, optimizer)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(2, 4, 8)).square().mean().backward()
        optimizer.step()
    monitor.stop()
    assert {int(row["step"]) for row in monitor.rows()} == {0, 1}


def test_a_monitor_that_has_ended_holds_neither_model_nor_optimizer(
    monitor: V1 | V2, tmp_path: Path
) -> None:
    net, optimizer = made(Net)
    monitor.start(net, optimizer)
    with Trends(tmp_path / "trends", net, optimizer, activations="all") as trends:
        train(net, optimizer)
    monitor.stop()
    trends.step(loss=1.0)  # nothing is followed any more
    alive = [weakref.ref(each) for each in (net, optimizer, *net.parameters())]
    del net, optimizer
    gc.collect()
    assert not [each for each in alive if each() is not None]


@pytest.mark.filterwarnings("ignore:The .grad attribute", "ignore:`torch.jit")
@pytest.mark.parametrize("how", ["step", "closure", "whole"])
def test_steps_that_compiled_code_makes_have_their_gradients(tmp_path: Path, how: str) -> None:
    torch._dynamo.reset()
    kinds = ("weight_grad", "param", "optimizer")
    monitors = {name: {"enabled": True, "ops": ["norm"]} for name in kinds}
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps({"output_dir": str(tmp_path), "monitors": {**monitors, "module": {}}})
    )
    torch.manual_seed(0)
    net = nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    monitor = TrainerMonitorV2(config)
    monitor.start(model=net, optimizer=optimizer)
    wanted = compiled_steps(net, optimizer, how)
    monitor.stop()
    rows = _rows(sorted(tmp_path.glob("rank_0/weight_grad_*.csv")))
    found = [float(row["norm"]) for row in rows if row["module_name"] == "weight"]
    assert found == pytest.approx(wanted, rel=1e-5)
    rows = _rows(sorted(tmp_path.glob("rank_0/param_*.csv")))
    assert {row["scope"] for row in rows} == {"param_updated"}  # those before it are gone


def compiled_steps(net: nn.Module, optimizer: torch.optim.Optimizer, how: str) -> list[float]:
    """Three steps; the norms of the weight's gradients that they take."""

    def backward() -> torch.Tensor:
        optimizer.zero_grad()
        loss = net(torch.ones(4, 8)).square().sum()
        loss.backward()
        return loss

    def whole() -> None:
        backward()
        optimizer.step()

    run = torch.compile(whole if how == "whole" else optimizer.step, backend="eager")
    wanted = []
    for _ in range(3):
        if how == "step":
            backward()
        run(*([backward] if how == "closure" else []))
        assert isinstance(net.weight, nn.Parameter)
        assert net.weight.grad is not None
        wanted.append(net.weight.grad.double().norm().item())
    return wanted
