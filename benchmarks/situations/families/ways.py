"""Ways that torch takes only where nothing stands around it: fast paths, exports, branches."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
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


@situation("an export within the step, strict and not", later=True)
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
