"""Ways that torch takes only where nothing stands around it: fast paths, exports, branches."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import fx, nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.situations.situation import (
    Around,
    Made,
    Net,
    asked_for,
    calling,
    normal,
    situation,
    tokens,
    train,
)


def encoder(**options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2).eval()


@situation("an encoder in eval with padding", later=True, core=True)
def padded() -> Made:
    model = Around(encoder())
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True

    def step(_: int) -> Any:
        with torch.no_grad():
            return model(normal(2, 5, 8), src_key_padding_mask=mask)

    return model, step


@situation("a layer of an encoder in eval", later=True, core=True)
def layer_in_eval() -> Made:
    return asked_for(Around(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()), 2, 5, 8)


@situation("attention in eval", later=True)
def attention_in_eval() -> Made:
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    model = calling(lambda x: attention(x, x, x))

    def step(_: int) -> Any:
        with torch.inference_mode():
            out: torch.Tensor = model(normal(2, 5, 8))[0]
            return out.double().sum().item()

    return model, step


@situation("an encoder in eval, compiled", later=True)
def encoder_compiled() -> Made:
    model = Around(encoder())
    compiled = torch.compile(model, backend="aot_eager")

    def step(_: int) -> Any:
        with torch.no_grad():
            return compiled(normal(2, 5, 8))

    return model, step


@situation(
    "an export within the step, strict and not",
    later=True,
    without_numbers="the step that export traces runs on fake tensors",
)
def exported() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def step(_: int) -> Any:
        graphs = [
            str(torch.export.export(model, (normal(3, 4),), strict=strict).graph)
            for strict in (True, False)
        ]
        model.zero_grad()
        model(normal(3, 4)).sum().backward()
        return graphs

    return model, step


@situation("a script and a trace within the step", later=True)
def scripted() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def step(_: int) -> Any:
        found = torch.jit.script(model)(normal(3, 4)), torch.jit.trace(model, normal(3, 4)).code
        model.zero_grad()
        model(normal(3, 4)).sum().backward()
        return found

    return model, step


class Stacked(nn.Module):
    """Layers that have a fast path each, with a head of the user's between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.TransformerEncoderLayer(8, 2, 16), nn.Linear(8, 8)
        self.last = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.head(self.first(x)).tanh())  # type: ignore[no-any-return]


@situation("layers of an encoder, evaluated and trained by turns", later=True, steps=4)
def by_turns() -> Made:
    model = Stacked()

    def step(n: int) -> Any:
        model.zero_grad()
        if n % 2 == 0:
            with torch.inference_mode():
                out: torch.Tensor = model.eval()(normal(5, 2, 8, seed=n))
                return out.double().sum().item()
        trained: torch.Tensor = model.train()(normal(5, 2, 8, seed=n))
        trained.square().mean().backward()
        return trained

    return model, step


@situation("a layer of an encoder, compiled alone and copied", later=True)
def layer_compiled() -> Made:
    model = Stacked().eval()
    model.first.compile(backend="aot_eager")

    def step(n: int) -> Any:
        with torch.no_grad():
            return copy.deepcopy(model)(normal(5, 2, 8, seed=n)), model(normal(5, 2, 8, seed=n))

    return model, step


@situation("graphs of symbols and of operators within the step", later=True)
def traced_graphs() -> Made:
    model = Around(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))

    def step(_: int) -> Any:
        model.zero_grad()
        made = [fx.symbolic_trace(model.inner), make_fx(model)(normal(3, 4))]
        model(normal(3, 4)).sum().backward()
        return [str(each.graph) for each in made]

    return model, step


@situation("a draft of an export, and a trace of two methods", later=True,
           without_numbers="the step that export traces runs on fake tensors")  # fmt: skip
def drafted() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def step(_: int) -> Any:
        model.zero_grad()
        drafted = torch.export.draft_export(model, (normal(3, 4),))
        traced = torch.jit.trace_module(model, {"forward": normal(3, 4)})
        model(normal(3, 4)).sum().backward()
        return str(drafted.graph), traced.code

    return model, step


class Branching(Net):
    """Chooses among its blocks by the numbers."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(batch)
        hidden = torch.cond(
            hidden.sum() > 0,
            self.blocks[0],
            self.blocks[1],
            (hidden,),
        )
        return self.head(hidden)  # type: ignore[no-any-return]


@situation("a branch over modules, compiled", later=True)
def branching() -> Made:
    model = Branching()
    compiled = torch.compile(model, backend="aot_eager")
    return model, lambda _: train(model, call=compiled)


@situation("a model compiled whole", later=True)
def whole() -> Made:
    model = Net()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    return model, lambda _: train(model, call=compiled)


@situation("blocks compiled whole, in place", later=True)
def whole_blocks() -> Made:
    model = Net()
    for block in model.blocks:
        block.compile(backend="aot_eager", fullgraph=True)
    return model, lambda _: train(model)


@situation("a compiled step of an optimizer", later=True)
def compiled_optimizer() -> Made:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(optimizer.step, backend="aot_eager")

    def step(_: int) -> Any:
        loss = train(model)
        compiled()
        return loss

    return model, step, optimizer


@situation(
    "a whole step that is compiled with its optimizer", later=True, uncompared=("graph mode",)
)
def compiled_step() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, capturable=True)

    def update() -> None:
        optimizer.step()

    compiled = torch.compile(update, backend="aot_eager")

    def step(n: int) -> Any:
        model.zero_grad()
        loss = model(normal(5, 4, seed=n)).square().mean()
        loss.backward()
        compiled()
        return loss

    return model, step, optimizer


@situation("two optimizers, one of them compiled", later=True, steps=3)
def one_compiled() -> Made:
    model = nn.ModuleDict({"body": nn.Linear(4, 4), "head": nn.Linear(4, 1)})
    first = torch.optim.SGD(model["body"].parameters(), lr=0.1, momentum=0.9)
    second = torch.optim.SGD(model["head"].parameters(), lr=0.1)
    compiled = torch.compile(second.step, backend="aot_eager")

    def step(n: int) -> Any:
        model.zero_grad()
        loss = model["head"](model["body"](normal(5, 4, seed=n)).tanh()).square().mean()
        loss.backward()
        first.step()
        compiled()
        return loss

    return model, step, second


@situation("forward-mode derivatives of zeros", later=True)
def forward_mode() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def step(_: int) -> Any:
        with forward_ad.dual_level(), torch.no_grad():
            x = forward_ad.make_dual(normal(3, 4), torch.zeros(3, 4))
            return tuple(forward_ad.unpack_dual(model(x)))

    return model, step


@situation("zeros that lie nowhere", later=True)
def nowhere() -> Made:
    model = calling(lambda x: x + 1)
    return model, lambda _: model(torch._efficientzerotensor((3, 400)))  # type: ignore[attr-defined]


@situation("packed sequences", later=True)
def packed() -> Made:
    model = nn.ModuleList([nn.LSTM(4, 4, batch_first=True), nn.Linear(4, 2)])

    def step(_: int) -> Any:
        model.zero_grad()
        rows = pack_padded_sequence(normal(3, 5, 4), torch.tensor([5, 3, 1]), batch_first=True)
        out, _lengths = pad_packed_sequence(model[0](rows)[0], batch_first=True)
        out = model[1](out)
        out.sum().backward()
        return out

    return model, step


@situation("a module mapped over a batch", later=True)
def mapped() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return asked_for(Mapping(model), 3, 4)


class Mapping(Around):
    """Runs its module for each row."""

    def forward(self, x: torch.Tensor) -> Any:  # type: ignore[override]
        return torch.vmap(self.inner)(x)


@situation("nested tensors through a module", later=True)
def nested() -> Made:
    model = Around(nn.Linear(4, 4))

    def step(_: int) -> Any:
        with torch.no_grad():
            rows = torch.nested.nested_tensor([normal(2, 4), normal(3, 4)])
            return torch.nested.to_padded_tensor(model(rows), 0.0), model(tokens(2, 4).float())

    return model, step
