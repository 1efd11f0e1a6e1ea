"""Whole training steps: losses, accumulation, clipping, scaling, copies, and parameters that come
later.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from benchmarks.situations.situation import Made, Net, loss_of, normal, situation, tokens, train


def stepped(model: nn.Module, work: Callable[[int], Any], lr: float = 0.1) -> Made:
    """A step that runs `work`, which leaves gradients, and steps SGD."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr)

    def step(n: int) -> Any:
        found = work(n)
        optimizer.step()
        return found

    return model, step, optimizer


@situation("two losses and two optimizers", later=True, own_gradients="each takes its own loss's")
def two_losses() -> Made:
    model = nn.ModuleDict({"make": nn.Linear(4, 4), "judge": nn.Linear(4, 1)})
    makes = torch.optim.Adam(model["make"].parameters(), lr=0.1)
    judges = torch.optim.Adam(model["judge"].parameters(), lr=0.1)

    def step(_: int) -> Any:
        judges.zero_grad()
        judged = model["judge"](model["make"](normal(3, 4)).detach()).square().mean()
        judged.backward()
        judges.step()
        makes.zero_grad()
        made = -model["judge"](model["make"](normal(3, 4))).mean()
        made.backward()
        makes.step()
        return judged, made

    return model, step, makes


@situation("gradients of three micro-batches", later=True, core=True)
def accumulated() -> Made:
    model = Net()

    def work(_: int) -> Any:
        model.zero_grad()
        losses = [loss_of(model(tokens(seed=k)), tokens(seed=k)) / 3 for k in range(3)]
        for loss in losses:
            loss.backward()
        return losses

    return stepped(model, work)


@situation("gradients over two steps", later=True)
def over_two_steps() -> Made:
    model = Net()

    def work(n: int) -> Any:
        if n % 2 == 0:
            model.zero_grad()
        loss = loss_of(model(tokens(seed=n)), tokens(seed=n))
        loss.backward()
        return loss

    return stepped(model, work)


BEFORE_CLIPPING = "trends have them before clipping"


@situation("clipping by the norm", later=True, own_gradients=BEFORE_CLIPPING)
def clipped() -> Made:
    model = Net()
    return stepped(
        model,
        lambda _: (train(model), nn.utils.clip_grad_norm_(model.parameters(), 0.01)),
    )


@situation("clipping part by part and by values", later=True, own_gradients=BEFORE_CLIPPING)
def clipped_in_parts() -> Made:
    model = Net()

    def work(_: int) -> Any:
        loss = train(model)
        head = nn.utils.clip_grad_norm_(model.head.parameters(), 0.01, norm_type=float("inf"))
        rest = nn.utils.clip_grad_norm_(model.blocks.parameters(), 0.5)
        nn.utils.clip_grad_value_(model.embed.parameters(), 0.001)
        return loss, head, rest

    return stepped(model, work)


@situation("a scaler of gradients", later=True, uncompared=("graph mode",))
def scaled() -> Made:
    return _scaled(1024.0, fused=False)


@situation("a scaler and a fused optimizer", later=True, own_gradients="it unscales them itself")
def scaled_fused() -> Made:
    return _scaled(1024.0, fused=True)


@situation("a scaler that skips a step", later=True, own_gradients="a skipped step takes none")
def skipping() -> Made:
    return _scaled(1e38, fused=False)


def _scaled(scale: float, fused: bool) -> Made:
    model, scaler = Net(), torch.amp.GradScaler("cpu", init_scale=scale)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=fused)

    def step(_: int) -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(tokens()), tokens())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return model, step, optimizer


@situation("two backward passes through one graph", later=True)
def retained() -> Made:
    model = Net()

    def work(_: int) -> Any:
        model.zero_grad()
        logits = model(tokens())
        logits.square().mean().backward(retain_graph=True)
        loss = loss_of(logits, tokens())
        loss.backward()
        return loss

    return stepped(model, work)


@situation("a group of parameters that comes later", later=True)
def later_group() -> Made:
    model = Net()
    optimizer = torch.optim.SGD(model.blocks.parameters(), lr=0.1)

    def step(n: int) -> Any:
        if n == 1:
            optimizer.add_param_group({"params": list(model.head.parameters())})
        loss = train(model)
        optimizer.step()
        return loss

    return model, step, optimizer


@situation("parameters that are unfrozen", later=True, steps=3)
def unfrozen() -> Made:
    model = Net().requires_grad_(False)
    model.head.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(n: int) -> Any:
        if n == 1:
            model.blocks.requires_grad_(True)
        loss = train(model)
        optimizer.step()
        return loss

    return model, step, optimizer


@situation("an average of the model", later=True)
def averaged() -> Made:
    model = Net()
    teacher: list[Any] = []

    def work(_: int) -> Any:
        if not teacher:
            teacher.append(AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9)))
        loss = train(model)
        teacher[0].update_parameters(model)
        with torch.no_grad():
            return loss, teacher[0](tokens())

    return stepped(model, work)


@situation("a deep copy that is trained, too", later=True)
def copied() -> Made:
    model = Net()

    def work(_: int) -> Any:
        other = copy.deepcopy(model)
        return train(model), train(other, tokens(seed=8))

    return stepped(model, work)


@situation("the model saved, pickled and read again", later=True, core=True)
def saved() -> Made:
    model = Net()

    def work(_: int) -> Any:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        again = torch.load(file, weights_only=False)
        same = pickle.loads(pickle.dumps(model))
        with torch.no_grad():
            found = again(tokens()), same(tokens())
        return train(model), found

    return stepped(model, work)


@situation("the optimizer's state asked for by a checkpoint", later=True)
def state_dict_of_a_checkpoint() -> Made:
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step(_: int) -> Any:
        loss = train(model)
        optimizer.step()
        optimizer.zero_grad()
        get_optimizer_state_dict(model, optimizer)
        return loss

    return model, step, optimizer


@situation("sparse gradients of repeated rows", later=True)
def sparse() -> Made:
    model = nn.Sequential(nn.Embedding(8, 4, sparse=True), nn.Linear(4, 2))
    rows = torch.tensor([1, 1, 1, 3])

    def work(_: int) -> Any:
        model.zero_grad()
        out = model(rows)
        out.square().sum().backward()
        return out

    return stepped(model, work)


class Prompt(nn.Module):
    """Hands its parameter out as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self) -> torch.Tensor:
        return self.weight


class Prompted(nn.Module):
    """Adds what a module's own parameter is."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt, self.head = Prompt(), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x + self.prompt())  # type: ignore[no-any-return]


@situation("a module that returns its parameter", later=True, steps=3)
def prompted() -> Made:
    model = Prompted()

    def work(n: int) -> Any:
        model.zero_grad()
        out = model(normal(2, 4, seed=n))
        out.square().sum().backward()
        return out

    return stepped(model, work)


@situation("an activation in place", later=True, core=True)
def in_place() -> Made:
    model = nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 4), nn.Dropout(0.5, inplace=True)
    )

    def work(_: int) -> Any:
        model.zero_grad()
        out = model(normal(3, 4))
        out.square().sum().backward()
        return out

    return stepped(model, work)


@situation("an inference pass within a training", later=True)
def inferring() -> Made:
    model = Net()

    def work(_: int) -> Any:
        with torch.inference_mode():
            found = model(tokens(seed=9)).clone()
        return train(model), found.sum().item()

    return stepped(model, work)


@situation("an optimizer that raises and is caught", later=True)
def raising() -> Made:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def failing() -> Any:
        raise RuntimeError("no loss")

    def step(n: int) -> Any:
        loss = train(model)
        if n == 0:
            try:
                optimizer.step(failing)
            except RuntimeError:
                loss = loss * torch.cos(loss)
        optimizer.step()
        return loss

    return model, step, optimizer


class Outer(torch.optim.SGD):
    """Steps another optimizer within its own step."""

    def __init__(self, parameters: Any, inner: torch.optim.Optimizer) -> None:
        super().__init__(parameters, lr=0.1)
        self.inner = inner

    def step(self, closure: Any = None) -> Any:
        self.inner.step()
        torch.cos(torch.ones(2))
        return super().step(closure)


@situation("an optimizer within another's step", later=True)
def nested_optimizers() -> Made:
    model = Net()
    optimizer = Outer(model.head.parameters(), torch.optim.Adam(model.blocks.parameters(), lr=0.1))

    def step(_: int) -> Any:
        loss = train(model)
        optimizer.step()
        return loss

    return model, step, optimizer
