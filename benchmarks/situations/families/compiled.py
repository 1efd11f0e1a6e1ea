"""Code that torch compiles, scripts, traces or exports."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from benchmarks.situations.situation import (
    Made,
    Net,
    asked_for,
    calling,
    loss_of,
    normal,
    situation,
    tokens,
    train,
    trained_on,
)


@situation("compile, the whole model")
def whole() -> Made:
    torch._dynamo.reset()
    model = torch.compile(Net(), backend="aot_eager")
    return model, lambda _: train(model)


@situation("compile, the whole model in place")
def whole_in_place() -> Made:
    torch._dynamo.reset()
    model = Net()
    model.compile(backend="aot_eager")
    return model, lambda _: train(model)


@situation("compile, one block", core=True)
def part() -> Made:
    torch._dynamo.reset()
    model = Net()
    model.blocks[0] = torch.compile(model.blocks[0], backend="aot_eager")
    return model, lambda _: train(model)


@situation("compile, each block in place", core=True)
def regional() -> Made:
    torch._dynamo.reset()
    model = Net()
    for block in model.blocks:
        block.compile(backend="aot_eager", fullgraph=True)
    return model, lambda _: train(model)


@situation("compile, by inductor")
def inductor() -> Made:
    torch._dynamo.reset()
    model = Net()
    model.blocks[1] = torch.compile(model.blocks[1])
    return model, lambda _: train(model)


@situation("compile, a function with fullgraph", core=True)
def fullgraph() -> Made:
    torch._dynamo.reset()
    model = Net()
    loss = torch.compile(loss_of, fullgraph=True, backend="aot_eager")

    def step(_: int) -> Any:
        model.zero_grad()
        value = loss(model(tokens()), tokens())
        value.backward()
        return value

    return model, step


@situation("compile, a function that calls the model")
def over_the_model() -> Made:
    torch._dynamo.reset()
    model = Net()
    call = torch.compile(lambda x: model(x) * 1, backend="aot_eager")
    return model, lambda _: train(model, call=call)


@situation("compile, dynamic shapes")
def dynamic() -> Made:
    torch._dynamo.reset()
    model = Net()
    call = torch.compile(model, dynamic=True, backend="aot_eager")

    return model, lambda n: train(model, tokens(batch=2 + n, length=5 + n), call)


@situation("compile, with a break in the graph")
def graph_break() -> Made:
    torch._dynamo.reset()

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2).sin()
        torch._dynamo.graph_break()
        return y[slice(0, 2)] * len({"a": 1})

    model = nn.Sequential(nn.Linear(4, 4), calling(torch.compile(broken, backend="aot_eager")))
    return trained_on(model, 3, 4)


@situation("compile, the whole training step")
def training_step() -> Made:
    torch._dynamo.reset()
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="aot_eager")
    def one(batch: torch.Tensor) -> torch.Tensor:
        loss = loss_of(model(batch), batch)
        loss.backward()
        return loss.detach()

    def step(_: int) -> Any:
        optimizer.zero_grad()
        loss = one(tokens())
        optimizer.step()
        return loss

    return model, step


class Flex(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        return self.function(q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j))  # type: ignore[no-any-return]


@situation("flex attention, not compiled")
def flex() -> Made:
    torch._dynamo.reset()
    model = nn.Sequential(Flex(flex_attention))
    return asked_for(model, 1, 2, 16, 16)


@situation("flex attention, compiled")
def flex_compiled() -> Made:
    torch._dynamo.reset()
    model = nn.Sequential(Flex(torch.compile(flex_attention)))
    return asked_for(model, 1, 2, 16, 16)


@situation("jit, scripted")
def scripted() -> Made:
    model = nn.Sequential(
        nn.Linear(4, 4), torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    )
    return trained_on(model, 3, 4)


@situation("jit, traced within the step")
def traced() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def step(_: int) -> Any:
        found = torch.jit.trace(model, normal(3, 4))
        return found(normal(3, 4)).detach(), len(list(found.graph.nodes()))

    return model, step


@situation(
    "export within the step",
    without_numbers="the step that export traces runs on fake tensors",
)
def exported() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def step(_: int) -> Any:
        program = torch.export.export(model, (normal(3, 4),))
        return program.module()(normal(3, 4)).detach(), len(program.graph.nodes)

    return model, step
