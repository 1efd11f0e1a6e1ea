"""Each written gradient is the one that its optimizer takes, as it was before it was clipped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from torch import nn

from builder.series.run import TrendRun
from msprobe.pytorch.trends import Trends
from tests.msprobe.pytorch.gradient_programs import PROGRAMS
from tests.msprobe.pytorch.gradient_programs.truth import STEPS, Truth, model

CLOSE = 1e-5
"""Relative: float32 sums of few elements, a clip factor that torch took in float32."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_step_has_its_own_gradients(tmp_path: Path, program: Callable[[Truth], None]) -> None:
    followed: list[Trends] = []

    def trends(*given: object, **named: object) -> Trends:
        followed.append(Trends(tmp_path, *given, activations=None, alerts=False, **named))  # type: ignore[arg-type]
        return followed[-1]

    truth = Truth(trends)
    program(truth)
    followed[0].close()
    run = TrendRun(tmp_path)
    assert run.steps.tolist() == list(range(STEPS))
    assert written(run, "grad") == [pytest.approx(each, rel=CLOSE) for each in truth.grad]
    norms = [sum(norm**2 for norm in each.values()) ** 0.5 for each in truth.grad]
    assert [each["grad_norm"] for each in written(run, "grad_norm")] == pytest.approx(norms)
    assert written(run, "clip") == [pytest.approx(each, rel=CLOSE) for each in truth.clip]


def written(run: TrendRun, kind: str) -> list[dict[str, float]]:
    found: list[dict[str, float]] = [{} for _ in range(STEPS)]
    for target in run.targets:
        if target.kind == kind:
            for step, value in zip(*(each.tolist() for each in run.line(target.key)), strict=True):
                found[step][target.name] = value
    return found


def test_a_fused_step_that_its_scaler_skips_is_skipped(tmp_path: Path) -> None:
    """As one that is not fused, of which nobody hears: no gradients, no update."""
    rows = {}
    for fused in (False, True):
        net = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, fused=fused, momentum=0.9)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        folder = tmp_path / str(fused)
        with Trends(folder, net, optimizer, activations=None, alerts=False) as trends:
            for step in range(STEPS):
                optimizer.zero_grad()
                scaler.scale(net(torch.ones(2, 8)).sum() * (1e39 if step == 2 else 1)).backward()
                scaler.step(optimizer)
                scaler.update()
                trends.step()
        run = TrendRun(folder)
        kinds = ("skipped", "grad", "grad_norm", "param", "exp_avg", "ratio")
        rows[fused] = {kind: [sorted(each) for each in written(run, kind)] for kind in kinds}
    assert rows[True] == rows[False]
    assert [len(each) for each in rows[True]["skipped"]] == [0, 0, 1, 0]
    assert [len(each) for each in rows[True]["grad"]] == [2, 2, 0, 2]


def test_clipping_is_what_it_was_when_nobody_listens_any_more(tmp_path: Path) -> None:
    functions = [nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_]
    insides = [function.__closure__[0].cell_contents for function in functions]  # type: ignore[index,attr-defined]
    net = model()
    Trends(tmp_path, net, torch.optim.SGD(net.parameters(), lr=0.1)).close()
    assert [one.__closure__[0].cell_contents for one in functions] == insides  # type: ignore[index,attr-defined]
    assert [nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_] == functions


@pytest.mark.parametrize("clip", [nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_])
def test_what_torch_refuses_or_warns_of_it_refuses_and_warns_of(
    tmp_path: Path, clip: Callable[..., object]
) -> None:
    net = model()
    with Trends(tmp_path, net, torch.optim.SGD(net.parameters(), lr=0.1)):
        with pytest.raises(TypeError):
            clip(None, 1.0)
        net["a"].weight.grad = torch.full((4, 4), torch.nan)
        if clip is nn.utils.clip_grad_norm_:
            with pytest.warns(UserWarning, match="empty generator"):
                clip((each for each in ()), 1.0)
            with pytest.raises(RuntimeError, match="non-finite"):
                clip(net.parameters(), 1.0, error_if_nonfinite=True)
        clip(net["a"].weight, 1.0)
        clip(net.parameters(), 1.0)


class _Alone:
    """In place of trends: nothing is followed."""

    def add(self, _: object) -> None: ...

    def step(self, **_: object) -> None: ...


def _weights_after(program: Callable[[Truth], None], folder: Path | None) -> list[torch.Tensor]:
    """The first model's weights; what follows it is closed, else it would to the end."""
    models: list[nn.Module] = []

    def trends(net: nn.Module, *given: object, **named: object) -> Trends | _Alone:
        models.append(net)
        if folder is None:
            return _Alone()
        followed = Trends(folder, net, *given, activations=None, alerts=False, **named)  # type: ignore[arg-type]  # a program's own
        opened.callback(followed.close)
        return followed

    with ExitStack() as opened:
        program(Truth(trends))
    return [weight.detach().clone() for weight in models[0].parameters()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_bits_in_each_program(tmp_path: Path, program: Callable[[Truth], None]) -> None:
    """Whatever is followed: weights after each program are those of the program alone."""
    alone, followed = _weights_after(program, None), _weights_after(program, tmp_path)
    assert all(map(torch.equal, alone, followed))
