"""functorch's transforms, ensembles, and forward-mode derivatives."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vmap

from benchmarks.situations.situation import Made, Net, loss_of, normal, situation, tokens


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


@situation("vmap")
def vmapped() -> Made:
    model = small()
    return model, lambda _: vmap(model)(normal(5, 4)).detach()


@situation("gradients of each sample")
def per_sample() -> Made:
    model = Net()
    values = {name: value.detach() for name, value in model.named_parameters()}

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return loss_of(functional_call(model, values, (x.unsqueeze(0),)), x)

    return model, lambda _: vmap(grad(loss), (None, 0))(values, tokens())


@situation("an ensemble of models")
def ensemble() -> Made:
    models = nn.ModuleList([small() for _ in range(3)])
    base = copy.deepcopy(models[0]).to("meta")

    def step(_: int) -> Any:
        values, buffers = stack_module_state(list(models))

        def one(values: Any, buffers: Any, x: torch.Tensor) -> Any:
            return functional_call(base, (values, buffers), (x,))

        return vmap(one, (0, 0, None))(values, buffers, normal(5, 4)).detach()

    return models, step


@situation("forward-mode derivatives")
def forward_mode() -> Made:
    model = small()

    def step(_: int) -> Any:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(normal(3, 4), normal(3, 4, seed=5))
            value, tangent = forward_ad.unpack_dual(model(dual))
            return value.detach().clone(), tangent.detach().clone()

    return model, step


@situation("jvp and jacobians", core=True)
def jacobians() -> Made:
    model = small()

    def step(_: int) -> Any:
        x = normal(4)
        value, tangent = jvp(model, (x,), (normal(4, seed=6),))
        return value.detach(), tangent.detach(), jacrev(model)(x).detach(), hessian(model)(x)

    return model, step


@situation("functional_call", core=True)
def functional() -> Made:
    model = Net()

    def step(_: int) -> Any:
        values = {n: (v * 2).detach().requires_grad_() for n, v in model.named_parameters()}
        loss = loss_of(functional_call(model, values, (tokens(),)), tokens())
        loss.backward()
        return loss, [value.grad for value in values.values()]

    return model, step
