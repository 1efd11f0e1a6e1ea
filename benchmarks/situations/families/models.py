"""Models that are copied, saved, converted or changed within a step."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations

from benchmarks.situations.situation import (
    Made,
    Net,
    asked_for,
    normal,
    situation,
    tokens,
    train,
    trained_on,
)


def nothing(*_: object) -> None:
    return None


@situation("deepcopy and pickle of the model", core=True, looks_at_itself=True)
def copied() -> Made:
    model = Net()
    model.blocks[0].register_forward_hook(nothing)

    def step(_: int) -> Any:
        twin = copy.deepcopy(model)
        again = pickle.loads(pickle.dumps(model))
        saved = io.BytesIO()
        torch.save(model, saved)
        hooks = [len(each.blocks[0]._forward_hooks) for each in (twin, again)]
        return train(model), train(twin), train(again), hooks, len(saved.getvalue())

    return model, step


@situation("modules that come and go within the step", core=True)
def changed() -> Made:
    model = Net()

    def step(_: int) -> Any:
        first = train(model)
        model.blocks.append(nn.Sequential(nn.Linear(8, 8)))
        second = train(model)
        del model.blocks[2]
        model.head.bias = None
        third = train(model)
        model.head.bias = nn.Parameter(torch.zeros(16))
        return first, second, third

    return model, step


@situation("lazy modules")
def lazy() -> Made:
    model = nn.Sequential(nn.LazyLinear(6), nn.ReLU(), nn.LazyLinear(3))

    def step(_: int) -> Any:
        out = model(normal(2, 4))
        model.zero_grad()
        out.sum().backward()
        return out

    return model, step


@situation("conversion by swapping tensors", core=True)
def swapped() -> Made:
    model = Net()

    def step(_: int) -> Any:
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            with torch.no_grad():
                first = model(tokens())
                model.double()
                second = model(tokens())
                model.float()
                state = {name: value.clone() for name, value in model.state_dict().items()}
                model.load_state_dict(state)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(False)
        return first, second

    return model, step


@situation("weights computed by parametrizations")
def parametrized() -> Made:
    model = nn.Sequential(
        parametrizations.weight_norm(nn.Linear(4, 4)),
        parametrizations.spectral_norm(nn.Linear(4, 4)),
    )
    return trained_on(model, 3, 4)


@situation("recurrent layers")
def recurrent() -> Made:
    model = nn.ModuleDict({"lstm": nn.LSTM(4, 6, 2), "cell": nn.GRUCell(6, 6)})

    def step(_: int) -> Any:
        model.zero_grad()
        out, _state = model["lstm"](normal(5, 2, 4))
        last = model["cell"](out[-1])
        last.sum().backward()
        return last

    return model, step


@situation("attention of torch")
def attention() -> Made:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
    return trained_on(model, 2, 5, 8)


@situation("batch norm, train and eval")
def batch_norm() -> Made:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))

    def step(_: int) -> Any:
        model.train().zero_grad()
        out = model(normal(2, 3, 6, 6))
        out.sum().backward()
        with torch.no_grad():
            return out, model.eval()(normal(2, 3, 6, 6))

    return model, step


@situation("dynamic quantisation")
def quantised() -> Made:
    torch.backends.quantized.engine = "fbgemm"
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear})
    return asked_for(model, 3, 8)


@situation("graphs of many thousand calls", steps=1)
def long_graph() -> Made:
    class Chain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(9_000):
                x = x * 1.0001
            return x

    model = nn.Sequential(nn.Linear(2, 2), Chain())

    def step(_: int) -> Any:
        model.zero_grad()
        loss = model(normal(2, 2)).sum()
        loss.backward()
        return loss

    return model, step
