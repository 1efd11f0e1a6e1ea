"""Faults of the loop around a model, over three recorded steps: each is one cause, told as such."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import builder
from builder.reasons import GradientsCleared, GradientsKept, UpdatedAlone
from builder.work.outcome import StoredFinding
from evaluation.parallel.strip import Dumps, strip
from msprobe.pytorch import PrecisionDebugger

STEPS = 3


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.put, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)
        self.middle, self.out = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.gelu(self.middle(torch.tanh(self.norm(self.put(x))))))


class Loop:
    """A right loop; what a fault changes is overridden and asks `wrong`."""

    batches = 1
    dtype = torch.float32

    def __init__(self, *, wrong: bool) -> None:
        torch.manual_seed(0)
        self.wrong, self.model = wrong, Model().to(self.dtype)
        self.optimizer = self.make_optimizer()
        self.first = copy.deepcopy(self.model.state_dict())

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def clear(self, step: int) -> None:
        self.optimizer.zero_grad()

    def between(self, step: int) -> None: ...

    def back(self, loss: Tensor) -> None:
        loss.backward()  # type: ignore[no-untyped-call]  # torch declares no types here

    def update(self, step: int) -> None:
        self.optimizer.step()

    def end(self, step: int) -> None: ...

    def run(self, step: int) -> None:
        self.clear(step)
        for batch in range(self.batches):
            torch.manual_seed(step * self.batches + batch)
            x, labels = torch.randn(32, 16, dtype=self.dtype), torch.randint(0, 4, (32,))
            if batch:
                self.between(step)
            self.back(F.cross_entropy(self.model(x).float(), labels))
        self.update(step)
        self.end(step)


class NeverCleared(Loop):
    def clear(self, step: int) -> None:
        if not self.wrong:
            super().clear(step)


class NeverClearedInHalf(NeverCleared):
    dtype = torch.bfloat16


class NeverClearedUnderMomentum(NeverCleared):
    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)


class BatchesNeverCleared(NeverCleared):
    """What is left of the step before stays in the gradients of each micro-batch."""

    batches = 3


class OnceNotCleared(Loop):
    def clear(self, step: int) -> None:
        if not (self.wrong and step == 1):
            super().clear(step)


class OneLayerNotCleared(Loop):
    def clear(self, step: int) -> None:
        for name, parameter in self.model.named_parameters():
            if not (self.wrong and name.startswith("middle")):
                parameter.grad = None


class ClearedByTheBenchmarkAlone(Loop):
    def clear(self, step: int) -> None:
        if self.wrong or step == 0:
            super().clear(step)


class ClearedBetweenBatches(Loop):
    batches = 3

    def between(self, step: int) -> None:
        if self.wrong:
            super().clear(step)


class UpdatedTwice(Loop):
    def update(self, step: int) -> None:
        for _ in range(2 if self.wrong and step == 1 else 1):
            self.optimizer.step()


class NotUpdated(Loop):
    def update(self, step: int) -> None:
        if not (self.wrong and step == 1):
            self.optimizer.step()


class StateLost(Loop):
    def update(self, step: int) -> None:
        if self.wrong and step == 2:
            self.optimizer.state.clear()
        self.optimizer.step()


class OldWeightsLoaded(Loop):
    def end(self, step: int) -> None:
        if self.wrong and step == 0:
            self.model.load_state_dict(self.first)


class BiasLeftOut(Loop):
    """Its gradient is never cleared either, for the optimizer does not know it."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        parameters = list(self.model.parameters())
        return torch.optim.AdamW(parameters[: -1 if self.wrong else None], lr=1e-2, foreach=False)


class BackTwice(Loop):
    def back(self, loss: Tensor) -> None:
        loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]  # as above
        if self.wrong:
            super().back(loss)


class AllAtOnce(Loop):
    """A sound loop: the optimizer's calls are others, its results the same."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), lr=1e-2, foreach=self.wrong)


class MeanByHand(Loop):
    """A sound loop: the loss is another call's, and the same number."""

    def back(self, loss: Tensor) -> None:
        super().back((32 * loss) / 32 if self.wrong else loss)


class ClearedToZero(Loop):
    """A sound loop: zeros stand where the other has no gradient."""

    def clear(self, step: int) -> None:
        self.optimizer.zero_grad(set_to_none=self.wrong)


def findings_of(loop: type[Loop], folder: Path, dumps: Dumps = "ours") -> tuple[StoredFinding, ...]:
    sides = []
    for wrong in (True, False):
        path, side = folder / str(wrong), loop(wrong=wrong)
        debugger = PrecisionDebugger(level="mix", dump_path=str(path))
        for step in range(STEPS):
            with debugger.recording(side.model):
                side.run(step)
        debugger.close()
        strip(path, dumps)
        sides.append(path)
    return builder.build(*sides, folder / "o", builder.BuildOptions(workers=1)).findings


@pytest.mark.parametrize(
    ("loop", "module", "reason"),
    [
        (NeverCleared, "out", GradientsKept(0)),
        (NeverClearedInHalf, "out", GradientsKept(0)),
        (NeverClearedUnderMomentum, "out", GradientsKept(0)),
        (BatchesNeverCleared, "out", GradientsKept(0)),
        (OnceNotCleared, "out", GradientsKept(0)),
        (OneLayerNotCleared, "middle", GradientsKept(0)),
        (ClearedByTheBenchmarkAlone, "out", GradientsCleared(0)),
        (ClearedBetweenBatches, "out", GradientsCleared(0)),
    ],
)
@pytest.mark.parametrize("dumps", ["ours", "peer"])
def test_what_gradients_add_up_to_is_told(
    tmp_path: Path,
    dumps: Dumps,
    loop: type[Loop],
    module: str,
    reason: GradientsKept | GradientsCleared,
) -> None:
    if dumps == "peer" and loop.dtype == torch.bfloat16:
        pytest.skip("means tell no sum beside what bfloat16 rounds")
    (found,) = findings_of(loop, tmp_path, dumps)
    assert f"Module.{module}." in found.name
    assert found.reasons[0] == reason


def test_a_wrong_gradient_adds_up_to_nothing(tmp_path: Path) -> None:
    """Its inputs agree and it does not, as above, but by no gradient that was there before."""

    class Scaled(Loop):
        def back(self, loss: Tensor) -> None:
            if self.wrong:
                self.model.out.weight.register_hook(lambda gradient: gradient * 2)
            super().back(loss)

    first = findings_of(Scaled, tmp_path)[0]
    assert not any(isinstance(r, GradientsKept | GradientsCleared) for r in first.reasons)


@pytest.mark.parametrize(
    ("loop", "step", "call"),
    [
        (UpdatedTwice, 1, "the problem run"),
        (NotUpdated, 1, "the benchmark run"),
        (StateLost, 2, "the problem run"),
        (OldWeightsLoaded, 0, "the problem run"),
        (BackTwice, 0, "the problem run"),
    ],
)
def test_what_one_run_alone_does_to_its_weights_is_one_cause(
    tmp_path: Path, loop: type[Loop], step: int, call: str
) -> None:
    (found,) = findings_of(loop, tmp_path)
    assert found.step == step
    assert builder.reasons.sentence(found.reasons[0]).startswith(f"only {call} calls ")


def test_a_parameter_that_one_optimizer_lacks_is_named(tmp_path: Path) -> None:
    (found,) = findings_of(BiasLeftOut, tmp_path)
    assert found.step == 0
    assert found.reasons[0] == UpdatedAlone("benchmark", "out.bias", 1)


@pytest.mark.parametrize("loop", [AllAtOnce, MeanByHand, ClearedToZero])
def test_another_way_to_the_same_weights_is_none(tmp_path: Path, loop: type[Loop]) -> None:
    assert [f.name for f in findings_of(loop, tmp_path) if not f.heals] == []
