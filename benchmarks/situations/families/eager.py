"""Training and inference as torch's switches have it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.situations.situation import (
    Made,
    Net,
    calling,
    loss_of,
    normal,
    situation,
    tokens,
    train,
    trained_on,
)


@situation("training", core=True)
def training() -> Made:
    model = Net()
    return model, lambda _: train(model)


@situation("no_grad", core=True)
def no_grad() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with torch.no_grad():
            return model(tokens())

    return model, step


@situation("inference mode", core=True)
def inference_mode() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with torch.inference_mode():
            return model(tokens()).clone()

    return model, step


@situation("autocast", core=True)
def autocast() -> Made:
    model = Net()

    def step(_: int) -> Any:
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model(tokens()), tokens())
        loss.backward()
        return loss

    return model, step


@situation("anomaly mode", core=True)
def anomaly_mode() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with torch.autograd.detect_anomaly(check_nan=True):
            return train(model)

    return model, step


@situation("deterministic algorithms")
def deterministic() -> Made:
    model = Net()

    def step(_: int) -> Any:
        torch.use_deterministic_algorithms(True)
        try:
            return train(model)
        finally:
            torch.use_deterministic_algorithms(False)

    return model, step


@situation("default dtype float64")
def default_dtype() -> Made:
    torch.set_default_dtype(torch.float64)
    try:
        model = Net()
    finally:
        torch.set_default_dtype(torch.float32)

    def step(_: int) -> Any:
        torch.set_default_dtype(torch.float64)
        try:
            return train(model)
        finally:
            torch.set_default_dtype(torch.float32)

    return model, step


@situation("meta device", without_numbers="tensors of the meta device have no elements")
def meta_device() -> Made:
    with torch.device("meta"):
        model = Net()

    def step(_: int) -> Any:
        return model(tokens().to("meta"))

    return model, step


@situation("exceptions in the middle", core=True)
def exceptions() -> Made:
    class Failing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError(f"not today: {float(x.sum()):.3f}")

    model = nn.Sequential(nn.Linear(4, 4), Failing())

    def step(_: int) -> Any:
        try:
            model(normal(2, 4))
        except ValueError as error:
            said = str(error)
        try:
            torch.relu(model[0](normal(2, 5)))
        except RuntimeError:
            said += " and that"
        loss = model[0](normal(2, 4)).sum()
        loss.backward()
        return said, loss

    return model, step


@situation("an exception in the backward pass")
def exception_in_backward() -> Made:
    class Refusing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
            raise ValueError("not this way")

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    def step(_: int) -> Any:
        hidden = model[1](model[0](normal(2, 4)))
        try:
            model[2](Refusing.apply(hidden)).sum().backward()
        except ValueError as error:
            said = str(error)
        model.zero_grad()
        loss = model(normal(2, 4)).sum()
        loss.backward()
        return said, loss

    return model, step


@situation("gradients of gradients")
def double_backward() -> Made:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def step(_: int) -> Any:
        model.zero_grad()
        x = normal(3, 4).requires_grad_()
        (first,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        first.square().sum().backward()
        return first.detach(), x.grad

    return model, step


@situation("two passes through one graph, accumulated")
def two_passes() -> Made:
    model = Net()

    def step(_: int) -> Any:
        model.zero_grad()
        loss = loss_of(model(tokens()), tokens())
        loss.backward(retain_graph=True)
        loss.backward()
        loss_of(model(tokens(seed=5)), tokens(seed=5)).backward()
        return loss

    return model, step


@situation("hooks of the user's")
def users_hooks() -> Made:
    model = Net()
    model.blocks[0].register_forward_pre_hook(lambda _, args: (args[0] * 1.5,))
    model.blocks[0].register_forward_hook(lambda _, __, out: out * 2)
    model.blocks[1].register_full_backward_hook(lambda _, sent, got: (sent[0] * 0.5,))
    model.head.weight.register_hook(lambda gradient: gradient * 3)
    return model, lambda _: train(model)


@situation("views and changes in place")
def in_place() -> Made:
    def change(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        left, right = y[:, :2], y[:, 2:]
        left.mul_(2)
        right.add_(left)
        y[0] = 1.0
        return y.relu_().view(-1)

    model = nn.Sequential(nn.Linear(4, 4), calling(change))
    return trained_on(model, 3, 4)


@situation("static buffers written every step", core=True)
def static_buffers() -> Made:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), torch.zeros(3, 4)
    out = torch.empty(3, 4)

    def step(n: int) -> Any:
        with torch.no_grad():
            x.copy_(normal(3, 4, seed=n))
            torch.mul(model(x), 2, out=out)
            torch.add(out, x, out=out)
            return out.clone()

    return model, step


@situation("shared and tied weights")
def tied() -> Made:
    model = Net(16)
    model.head.weight = model.embed.weight
    shared = model.blocks[0]
    model.blocks.append(shared)
    return model, lambda _: train(model)


@situation("random numbers within the step")
def random_numbers() -> Made:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), calling(lambda x: x + torch.randn(8)))
    return trained_on(model, 2, 8)
