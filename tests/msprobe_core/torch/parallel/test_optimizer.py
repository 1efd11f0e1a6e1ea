"""What each optimizer step reads and writes, by parameter name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from msprobe.pytorch import PrecisionDebugger


def _optimizer_of(folder: Path) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    (path,) = folder.glob("step0/*/dump.json")
    found = json.loads(path.read_text())["optimizer"]
    assert isinstance(found, dict)
    return found


def test_each_parameter_has_its_gradient_and_itself_before_and_after(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix", task="statistics")
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    debugger.start(model)
    model(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    ((name, step),) = _optimizer_of(tmp_path).items()
    assert name == "Optimizer.SGD.step.0"
    for parameter, value in model.named_parameters():
        assert value.grad is not None
        norms = [step[role][parameter]["Norm"] for role in ("input", "parameters", "output")]
        true = [t.double().norm().item() for t in (value.grad, before[parameter], value.detach())]
        assert torch.allclose(torch.tensor(norms), torch.tensor(true))


def test_a_parameter_without_gradient_is_no_part_of_a_step(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix", task="statistics")
    debugger.start(model)
    model[0](torch.randn(4, 3)).sum().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    (step,) = _optimizer_of(tmp_path).values()
    assert set(step["input"]) == {"0.weight", "0.bias"}


class Recorded:
    """A step of a small model that one optimizer, or two, is going to take."""

    def __init__(self, folder: Path, level: str = "mix") -> None:
        torch.manual_seed(0)
        self.folder = folder
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        self.debugger = PrecisionDebugger(dump_path=folder, level=level, task="statistics")
        self.input = torch.randn(5, 3)

    def __enter__(self) -> Recorded:
        self.debugger.start(self.model)
        return self

    def __exit__(self, *_: object) -> None:
        self.debugger.stop()
        self.debugger.step()
        self.debugger.close()

    def backward(self, scale: float = 1.0) -> dict[str, float]:
        (self.model(self.input).square().sum() * scale).backward()
        return self.norms()

    def norms(self) -> dict[str, float]:
        named = self.model.named_parameters()
        return {name: p.grad.double().norm().item() for name, p in named if p.grad is not None}

    def parents(self) -> dict[str, str | None]:
        (path,) = self.folder.glob("step0/*/construct.json")
        found: dict[str, str | None] = json.loads(path.read_text())
        return found

    def steps(self) -> list[dict[str, dict[str, dict[str, object]]]]:
        return list(_optimizer_of(self.folder).values())


def _norms(values: dict[str, dict[str, object]]) -> dict[str, object]:
    return {name: value["Norm"] for name, value in values.items()}


@pytest.mark.parametrize("word", [False, True])
def test_a_closure_has_run_before_gradients_are_read(tmp_path: Path, word: bool) -> None:
    with Recorded(tmp_path) as run:
        optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)
        run.backward(7.0)
        told: dict[str, float] = {}

        def closure() -> float:
            optimizer.zero_grad()
            told.update(run.backward())
            torch.nn.functional.gelu(torch.ones(2))
            return 0.0

        optimizer.step(closure=closure) if word else optimizer.step(closure)
    (step,) = run.steps()
    assert _norms(step["input"]) == pytest.approx(told)
    assert run.parents()["Functional.gelu.0.forward"] is None
    assert "optimizer" in run.parents().values()


def test_the_norm_that_clips_and_its_factor_are_told(tmp_path: Path) -> None:
    with Recorded(tmp_path) as run:
        optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)
        norms = run.backward()
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), 0.5)
        torch.nn.utils.clip_grad_value_(run.model[1].parameters(), 0.01)
        clipped = run.norms()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(torch.nn.Linear(1, 1).parameters(), 1.0)
    (step,) = run.steps()
    assert _norms(step["input"]) == pytest.approx(clipped)
    total = sum(norm**2 for norm in norms.values()) ** 0.5
    clipping = step["clipping"]
    assert clipping["total_norm"]["Norm"] == pytest.approx(total)
    assert clipping["factor"]["Norm"] == pytest.approx(0.5 / total)
    rest = {name: value["value"] for name, value in clipping.items() if "value" in value}
    assert rest == {
        "max_norm": 0.5,
        "norm_type": 2.0,
        "max_value.1": 0.01,
        "count": 4,
        "count.1": 2,
    }


def test_each_of_two_optimizers_is_told_its_own_clipping(tmp_path: Path) -> None:
    with Recorded(tmp_path) as run:
        run.backward()
        for number in range(2):
            part = run.model[number]
            torch.nn.utils.clip_grad_norm_(part.parameters(), 0.25 * (number + 1))
        for number in range(2):
            torch.optim.SGD(run.model[number].parameters(), lr=0.1).step()
    allowed = [step["clipping"]["max_norm"]["value"] for step in run.steps()]
    assert allowed == [0.25, 0.5]
    total = [sum(n**2 for n in _norms(step["input"]).values()) ** 0.5 for step in run.steps()]  # type: ignore[operator,misc]
    assert total == pytest.approx(allowed, rel=1e-4)


def test_a_fused_step_takes_gradients_without_their_scale(tmp_path: Path) -> None:
    with Recorded(tmp_path) as run:
        optimizer = torch.optim.AdamW(run.model.parameters(), lr=0.1, fused=True)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        scaled = run.backward(scaler.scale(torch.ones(())).item())
        scaler.step(optimizer)
    (step,) = run.steps()
    assert _norms(step["input"]) == pytest.approx({n: v / 1024 for n, v in scaled.items()})


def test_a_framework_s_buffer_is_what_is_taken(tmp_path: Path) -> None:
    with Recorded(tmp_path) as run:
        optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)
        for parameter in run.model.parameters():
            parameter.main_grad = torch.full_like(parameter, 2.0)
        optimizer.step()
    (step,) = run.steps()
    wanted = {name: 2 * p.numel() ** 0.5 for name, p in run.model.named_parameters()}
    assert _norms(step["input"]) == pytest.approx(wanted)


def test_hooks_of_the_user_come_before(tmp_path: Path) -> None:
    with Recorded(tmp_path) as run:
        optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)

        def clip(*_: object) -> None:
            torch.nn.utils.clip_grad_norm_(run.model.parameters(), 0.5)

        optimizer.register_step_pre_hook(clip)
        run.backward()
        optimizer.step()
        hooks = len(optimizer._optimizer_step_pre_hooks)
    (step,) = run.steps()
    assert _norms(step["input"]) == pytest.approx(run.norms())
    assert step["clipping"]["max_norm"]["value"] == 0.5
    assert hooks == 1, "the user's own"


def test_a_step_that_makes_a_state_for_a_checkpoint_is_none(tmp_path: Path) -> None:
    from torch.distributed.checkpoint.state_dict import get_state_dict

    with Recorded(tmp_path) as run:
        optimizer = torch.optim.AdamW(run.model.parameters(), lr=0.1)
        get_state_dict(run.model, optimizer)
        told = run.backward()
        optimizer.step()
    (step,) = run.steps()
    assert _norms(step["input"]) == pytest.approx(told)


def _fails(kind: str, optimizer: torch.optim.Optimizer) -> None:
    def closure() -> float:
        raise MemoryError("no memory")

    if kind == "closure":
        optimizer.step(closure)
    elif kind == "update":
        optimizer.param_groups[0]["lr"] = "fast"
        optimizer.step()
    else:

        class Outer(torch.optim.SGD):
            def step(self, closure: object = None) -> None:  # type: ignore[override]
                optimizer.step(closure)  # type: ignore[arg-type]

        Outer(optimizer.param_groups[0]["params"], lr=0.1).step(closure)


@pytest.mark.parametrize("kind", ["closure", "update", "nested"])
@pytest.mark.parametrize("held", [False, True])
def test_a_step_that_raises_is_over(tmp_path: Path, kind: str, held: bool) -> None:
    """Also while its traceback holds its frames."""
    with Recorded(tmp_path) as run:
        optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)
        told = run.backward()
        caught = []
        try:
            _fails(kind, optimizer)
        except (MemoryError, TypeError) as error:
            caught = [error] * held
        torch.nn.functional.gelu(torch.ones(2))
        optimizer.param_groups[0]["lr"] = 0.1
        optimizer.step()
        torch.nn.functional.silu(torch.ones(2))
    assert len(caught) == held
    (step,) = run.steps()
    assert _norms(step["input"]) == pytest.approx(told)
    parents = run.parents()
    assert [parents[f"Functional.{name}.0.forward"] for name in ("gelu", "silu")] == [None, None]


def test_a_step_inside_a_step_does_not_end_it(tmp_path: Path) -> None:
    class Outer(torch.optim.SGD):
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            inner.step()
            torch.nn.functional.gelu(torch.ones(2))

    with Recorded(tmp_path) as run:
        inner = torch.optim.Adam(run.model.parameters(), lr=0.1)
        outer = Outer(run.model.parameters(), lr=0.1)
        run.backward()
        outer.step()
        torch.nn.functional.silu(torch.ones(2))
    assert [set(step) for step in run.steps()] == [{"input", "parameters", "output"}] * 2
    parents = run.parents()
    assert parents["Functional.gelu.0.forward"] == "optimizer"
    assert parents["Functional.silu.0.forward"] is None
