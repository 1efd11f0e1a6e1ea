"""A followed program runs as it would alone: copied, saved, compiled, forked, in threads."""

from __future__ import annotations

import copy
import io
import os
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from builder.series.run import TrendRun
from msprobe.pytorch.trends import Trends
from msprobe_core.format.series import HEADER
from tests.msprobe.pytorch.trend_models import (
    Block,
    batches,
    make,
    train,
    train_with_a_leap,
)

LINE = ("param", "0.weight")


def small() -> tuple[nn.Sequential, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net(torch.ones(4, 8)).sum().backward()
    optimizer.step()


DO: dict[str, Callable[[nn.Module], object]] = {
    "save": lambda net: torch.save(net, io.BytesIO()),
    "pickle": pickle.dumps,
    "copy": copy.deepcopy,
    "script": torch.jit.script,
    "trace": lambda net: torch.jit.trace(net, (torch.ones(2, 8),), check_trace=False),
    "export": lambda net: torch.export.export(net, (torch.ones(2, 8),)),
    "strict export": lambda net: torch.export.export(net, (torch.ones(2, 8),), strict=True),
    "fx": torch.fx.symbolic_trace,
    "functional": lambda net: torch.func.functional_call(
        net, dict(net.named_parameters()), (torch.ones(2, 8),)
    ),
    "hooks": lambda net: [
        getattr(module, name)
        for module in net.modules()
        for name in vars(module)
        if name.endswith("_hooks") and getattr(module, name) and 1 / 0
    ],
}


@pytest.mark.filterwarnings("ignore:`torch.jit")
@pytest.mark.parametrize("name", DO)
def test_a_followed_model_is_a_model_like_any_other(tmp_path: Path, name: str) -> None:
    net, optimizer = small()
    with Trends(tmp_path, net, optimizer, activations="all", alerts=False) as trends:
        for _ in range(3):
            DO[name](net)
            step(net, optimizer)
            trends.step()
    assert TrendRun(tmp_path).line(LINE)[0].tolist() == [0, 1, 2]


class Layered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(8) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def compiled(how: str, net: Layered) -> Callable[[], None]:
    """A forward and a backward pass, of which a part is compiled."""
    run: Any = net
    if how == "fullgraph":
        run = torch.compile(net, backend="eager", fullgraph=True)
    elif how == "in place":
        net.compile(backend="eager", fullgraph=True)
    elif how == "blocks":
        for layer in net.layers:
            layer.compile(backend="eager", fullgraph=True)

    def both() -> None:
        run(torch.ones(4, 8)).sum().backward()

    return torch.compile(both, backend="eager") if how == "whole step" else both


@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("how", ["fullgraph", "in place", "blocks", "whole step"])
def test_compiled_code_is_what_it_would_be_alone(tmp_path: Path, how: str) -> None:
    counters = torch._dynamo.utils.counters
    found = []
    for followed in (False, True):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        net = Layered()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trends = Trends(tmp_path, net, optimizer, alerts=False) if followed else None
        both = compiled(how, net)
        for _ in range(3):
            both()
            optimizer.step()
            optimizer.zero_grad()
            if trends is not None:
                trends.step()
        if trends is not None:
            trends.close()
        counted = counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())
        found.append((counted, [each.detach().clone() for each in net.parameters()]))
    (alone, weights), (beside, weights_beside) = found
    assert beside == alone
    assert all(torch.equal(one, other) for one, other in zip(weights, weights_beside, strict=True))
    steps = TrendRun(tmp_path).line(("param", "layers.0.fc1.weight"))[0]
    assert steps.tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:`torch.jit", "ignore:The .grad attribute")
@pytest.mark.parametrize("how", ["step", "whole"])
def test_steps_inside_compiled_code_are_measured_at_its_end(tmp_path: Path, how: str) -> None:
    torch._dynamo.reset()
    net, _ = small()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    trends = Trends(tmp_path, net, optimizer, activations=None, alerts=False)

    def both(x: torch.Tensor) -> None:
        net(x).square().sum().backward()
        optimizer.step()

    compiled_step = torch.compile(optimizer.step, backend="eager")
    compiled_both = torch.compile(both, backend="eager")
    wanted, weights = [], []
    for number in range(1, 4):
        x = torch.full((4, 8), float(number))
        if how == "whole":
            compiled_both(x)
        else:
            net(x).square().sum().backward()
            compiled_step()
        wanted.append(net[0].weight.grad.double().norm().item())
        weights.append(net[0].weight.detach().double().norm().item())
        optimizer.zero_grad()
        trends.step()
    trends.close()
    run = TrendRun(tmp_path)
    assert run.line(("grad", "0.weight"))[1].tolist() == pytest.approx(wanted, rel=1e-6)
    assert run.line(LINE)[1].tolist() == pytest.approx(weights, rel=1e-6)
    assert (run.line(("ratio", "0.weight"))[1] > 0).all()
    assert not run.ranks_of(("skipped", "skipped"))


class Kept(nn.Module):
    """Hands out its parameter, or a tensor that it keeps from the first call on."""

    def __init__(self, made: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 8))
        self._made = self.weight * 2 if made else None

    def forward(self) -> torch.Tensor:
        return self.weight if self._made is None else self._made


class WithKept(nn.Module):
    def __init__(self, made: bool) -> None:
        super().__init__()
        self.kept, self.fc = Kept(made), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x + self.kept() + self.kept())


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("micro", [1, 2])
def test_a_tensor_that_is_handed_out_again_is_hooked_once_a_step(
    tmp_path: Path, made: bool, micro: int
) -> None:
    torch.manual_seed(0)
    net = WithKept(made)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    wanted = []
    with Trends(tmp_path, net, optimizer, activations="all", alerts=False) as trends:
        for _ in range(4):
            squares = 0.0
            for _ in range(micro):
                net(torch.ones(4, 8)).square().sum().backward(retain_graph=made)
                gradient, net.kept.weight.grad = net.kept.weight.grad, None
                squares += (gradient.double() / (2 if made else 1)).square().sum().item()
            wanted.append(squares**0.5)
            optimizer.step()
            optimizer.zero_grad()
            trends.step()
    assert TrendRun(tmp_path).line(("actv_grad", "kept"))[1].tolist() == pytest.approx(wanted)
    assert not net.kept()._backward_hooks


def test_a_copy_of_the_model_is_not_followed(tmp_path: Path) -> None:
    found = []
    for copied in (False, True):
        net, optimizer = small()
        with Trends(tmp_path / str(copied), net, optimizer, activations="all") as trends:
            teacher = torch.optim.swa_utils.AveragedModel(net)
            loaded = copy.deepcopy(net)
            for _ in range(3):
                if copied:
                    teacher(torch.full((4, 8), 100.0))
                    loaded(torch.full((4, 8), 100.0)).sum().backward()
                step(net, optimizer)
                trends.step()
        run = TrendRun(tmp_path / str(copied))
        found.append([run.line((kind, "0"))[1].tolist() for kind in ("actv", "actv_grad")])
    assert found[0] == found[1]


class Odd(nn.Module):
    """Two layers, and something odd between them."""

    def __init__(self, odd: str) -> None:
        super().__init__()
        self.a, self.b, self.odd = nn.Linear(8, 8), nn.Linear(8, 8), odd

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.odd in ("strided", "jagged"):
            parts = [x[:2], x[2:]]
            layout = getattr(torch, self.odd)
            nested = torch.nested.as_nested_tensor(parts, layout=layout)
            return torch.cat(list(self.b(self.a(nested)).unbind()))
        if self.odd == "vmap":
            return torch.vmap(self.b)(self.a(x))
        if self.odd == "grad":
            inner = torch.func.grad(lambda y: self.b(y).sum())(x)
            return self.a(x) + inner + self.b(x)
        if self.odd == "fake":
            from torch._subclasses import FakeTensorMode

            with FakeTensorMode(allow_non_fake_inputs=True):
                self.b(x)
            return self.b(self.a(x))
        assert self.odd == "inference"
        with torch.inference_mode():
            self.b(x)
        return self.b(self.a(x))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("odd", ["strided", "jagged", "vmap", "grad", "fake", "inference"])
def test_an_odd_tensor_is_one_missing_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], odd: str
) -> None:
    torch.manual_seed(0)
    net = Odd(odd)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    wanted = []
    with Trends(tmp_path, net, optimizer, activations="all", alerts=False) as trends:
        for _ in range(6):
            optimizer.zero_grad()
            net(torch.ones(5, 8)).square().sum().backward()
            wanted.append(net.a.weight.grad.double().norm().item())
            optimizer.step()
            trends.step(loss=torch.tensor(1.0))
    run = TrendRun(tmp_path)
    steps, found = run.line(("grad", "a.weight"))
    assert steps.tolist() == list(range(6))
    assert found.tolist() == pytest.approx(wanted, rel=1e-6)
    assert run.line(("loss", "loss"))[0].tolist() == list(range(6))
    said = capfd.readouterr().err.splitlines()
    first = [line for line in said if "is left out" in line]
    assert len(first) == (odd != "inference"), said  # once a reason, however many tensors
    if first:
        assert "step 0: actv of " in first[0]
        assert "numbers were left out" in said[-1]


def test_logits_are_let_go_of_before_the_backward_pass(tmp_path: Path) -> None:
    alive = []

    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.head = nn.Embedding(16, 8), nn.Linear(8, 16)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            logits = self.head(self.emb(ids))
            self.logits = weakref.ref(logits)
            return F.cross_entropy(logits.reshape(-1, 16).float() * 1, ids.reshape(-1))

    for settings in ({}, {"activations": "all"}, {"keep": 4}):
        net = Language()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with Trends(tmp_path / str(len(alive)), net, optimizer, **settings) as trends:
            loss = net(torch.arange(16))
            alive.append(net.logits() is not None)
            loss.backward()
            optimizer.step()
            trends.step()
    assert alive == [False] * 3


@pytest.mark.parametrize("told", [True, False])
def test_the_step_that_an_alert_records_is_one_step(tmp_path: Path, told: bool) -> None:
    import json

    net, optimizer = make()
    true: dict[int, float] = {}
    net.emb.register_forward_hook(
        lambda _m, _a, output: true.__setitem__(len(true), output.double().norm().item())
    )
    with Trends(tmp_path, net, optimizer, on_alert="dump") as trends:
        after = trends.step if told else (lambda loss: None)
        train_with_a_leap(net, optimizer, 24, (20, 1e4), after)
    [file] = sorted(tmp_path.glob("dumps/step21/*/dump.json"))
    data = json.loads(file.read_text())["data"]
    output = data["Module.emb.Embedding.forward.0"]["output"][0]
    assert output["Norm"] == pytest.approx(true[21], rel=1e-5)
    assert sum(name.startswith("Module.emb.Embedding.forward") for name in data) == 1
    assert {f"Module.layers.{i}.Block.backward.0" for i in range(3)} <= set(data)


def records(folder: Path) -> list[int]:
    """The steps in a log, as bytes tell them."""
    raw = next((folder / "rank0" / "a0").glob("log-*")).read_bytes()
    found, at = [], 0
    while at + HEADER.size <= len(raw):
        _, number, size, _ = HEADER.unpack_from(raw, at)
        found.append(number)
        at += HEADER.size + size
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.parametrize("child", ["ends", "trains", "closes"])
@pytest.mark.parametrize("reaction", ["log", "function", "dump"])
def test_a_forked_child_leaves_the_trends_to_its_parent(
    tmp_path: Path, child: str, reaction: str
) -> None:
    told: list[object] = []
    net, optimizer = small()
    on_alert: Any = told.append if reaction == "function" else reaction
    trends = Trends(tmp_path, net, optimizer, activations="all", on_alert=on_alert)
    step(net, optimizer)
    trends.step()
    step(net, optimizer)  # it waits for its loss
    process = os.fork()
    if process == 0:
        code = 1
        try:
            for _ in range(3 if child == "trains" else 0):
                step(net, optimizer)
                trends.step()
            if child == "closes":
                trends.close()
            else:
                trends.close = trends.close  # as `atexit` would call it
                trends.close()
            code = 0
        finally:
            os._exit(code)
    assert _code_of(process) == 0
    trends.step()
    step(net, optimizer)
    trends.close()
    assert records(tmp_path) == [0, 1, 2]


def _code_of(process: int) -> int:
    """The exit code of a child that must not hang; a thread of our own would outlive the wait."""
    timer = threading.Timer(60, lambda: os.kill(process, 9))
    timer.start()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    timer.cancel()
    return code


def test_a_child_may_follow_a_training_of_its_own(tmp_path: Path) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("a system without fork")
    net, optimizer = small()
    with Trends(tmp_path / "parent", net, optimizer) as trends:
        step(net, optimizer)
        trends.step()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                with Trends(tmp_path / "child", net, optimizer) as own:
                    for _ in range(2):
                        step(net, optimizer)
                        own.step()
                code = 0
            finally:
                os._exit(code)
        assert _code_of(process) == 0
        step(net, optimizer)
        trends.step()
    assert TrendRun(tmp_path / "parent").line(LINE)[0].tolist() == [0, 1]
    assert TrendRun(tmp_path / "child").line(LINE)[0].tolist() == [0, 1]


def test_a_model_in_several_threads_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    net, optimizer = small()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with Trends(tmp_path, net, optimizer, activations="all", alerts=False) as trends:
            for _ in range(5):
                others = [threading.Thread(target=net, args=(torch.ones(4, 8),)) for _ in range(3)]
                for other in others:
                    other.start()
                for other in others:
                    other.join()
                step(net, optimizer)
                trends.step()
    finally:
        sys.setswitchinterval(interval)
    sizes = TrendRun(tmp_path).line(("actv", "0"), "size")[1]
    assert sizes.tolist() == [4 * 4 * 8] * 5
    assert "left out" not in capfd.readouterr().err


def test_a_function_for_alerts_that_raises_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(alert: object) -> None:
        raise ValueError("no mail server")

    net, optimizer = make()
    with Trends(tmp_path, net, optimizer, activations=None, on_alert=refuse) as trends:
        train_with_a_leap(net, optimizer, 20, (15, 100), trends.step)
    assert "on_alert: ValueError: no mail server" in capfd.readouterr().err
    assert TrendRun(tmp_path).line(("loss", "loss"))[0].tolist() == list(range(20))


def test_a_disk_that_is_full_for_a_while_costs_these_steps_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the names of what is new in them: half a line would give all others wrong names."""
    from msprobe_core.monitor import store

    real = store._append
    full: list[bool] = []

    def append(file: Any, record: bytes) -> None:
        if full:
            file.write(record[: len(record) // 2])
            file.truncate(file.tell() - len(record) // 2)
            file.seek(0, 2)
            raise OSError(28, "No space left on device")
        real(file, record)

    monkeypatch.setattr(store, "_append", append)
    net, optimizer = small()
    with Trends(tmp_path, net, optimizer, activations=None) as trends:
        for number in range(12):
            full[:] = [True] if 3 <= number < 9 else []
            step(net, optimizer)
            trends.step(loss=number, **({f"late{number}": float(number)} if number > 3 else {}))
    run = TrendRun(tmp_path)
    steps, losses = run.line(("loss", "loss"))
    assert steps.tolist() == losses.tolist() == [0, 1, 2, 9, 10, 11]
    assert run.line(("late10", "late10"))[1].tolist() == [10]
    assert run.line(("late5", "late5"))[0].tolist() == []


def test_steps_that_come_too_fast_for_alerts_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from msprobe_core.monitor.live_alerts import AlertWatch

    goes_on = threading.Event()
    seen: list[int] = []
    real = AlertWatch.step

    def look(watch: AlertWatch, number: int, *values: Any) -> Any:
        goes_on.wait(60)
        seen.append(number)
        return real(watch, number, *values)

    monkeypatch.setattr(AlertWatch, "step", look)
    net, optimizer = small()
    with Trends(tmp_path, net, optimizer, activations=None) as trends:
        for number in range(100):
            step(net, optimizer)
            trends.step(loss=1.0, **({"late": 1.0} if number > 80 else {}))
        goes_on.set()
        trends._recorder._wait()
        step(net, optimizer)
        trends.step(loss=1.0, late=1.0)
    assert seen == [*range(65), 100]
    assert TrendRun(tmp_path).line(("loss", "loss"))[0].tolist() == list(range(101))
    assert "35 steps came too fast" in capfd.readouterr().err


def test_the_bits_of_the_training_are_the_same_beside_everything(tmp_path: Path) -> None:
    found = []
    for followed in (False, True):
        net, optimizer = make()
        trends = Trends(tmp_path, net, optimizer, activations="all", keep=2) if followed else None
        for ids in batches(4):
            copy.deepcopy(net)(ids)
            train(net, optimizer, [ids], clip=0.5)
        if trends is not None:
            trends.close()
        found.append([parameter.detach().clone() for parameter in net.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
