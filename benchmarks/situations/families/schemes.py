"""Schemes of training that real programs have: what makes the gradients of a step, and who steps.

Written from what such programs do, not from what follows them.
"""

from __future__ import annotations

import copy
import math
import os
import threading
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.checkpoint import checkpoint

from benchmarks.situations.families.trainings import BEFORE_CLIPPING, stepped
from benchmarks.situations.situation import Made, Net, loss_of, normal, situation, tokens, train


@situation("half precision whose scale grows, and falls at last", later=True, steps=3,
           uncompared=("graph mode",))  # fmt: skip
def moving_scale() -> Made:
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=1)

    def step(n: int) -> Any:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model(tokens(seed=n)), tokens(seed=n))
        scaler.scale(loss * (math.inf if n == 2 else 1)).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss, scaler.get_scale()

    return model, step, optimizer


@situation("an evaluation with averaged weights, swapped in and out", later=True, core=True)
def swapped() -> Made:
    model = Net()
    mean = copy.deepcopy(model)

    def swap() -> None:
        for mine, averaged in zip(model.parameters(), mean.parameters(), strict=True):
            mine.data, averaged.data = averaged.data, mine.data

    def work(n: int) -> Any:
        with torch.no_grad():
            for mine, averaged in zip(model.parameters(), mean.parameters(), strict=True):
                averaged.lerp_(mine, 0.1)
            swap()
            judged = model.eval()(tokens(seed=9))
            swap()
        model.train()
        return train(model, tokens(seed=n)), judged

    return stepped(model, work)


@situation("averaged weights with statistics taken anew", later=True, steps=3)
def swa() -> Made:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    mean, rates = AveragedModel(model), SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)

    def step(n: int) -> Any:
        optimizer.zero_grad()
        loss = model(normal(6, 4, seed=n)).square().mean()
        loss.backward()
        optimizer.step()
        mean.update_parameters(model)
        rates.step()
        if n == 2:
            update_bn([normal(6, 4, seed=k) for k in range(2)], mean)
        return loss, [each.clone() for each in mean.state_dict().values()]

    return model, step, optimizer


@situation("gradients of a function, put there by hand", later=True, core=True)
def by_hand() -> Made:
    model = Net()

    def loss(values: dict[str, torch.Tensor], batch: torch.Tensor) -> torch.Tensor:
        return loss_of(functional_call(model, values, (batch,)), batch)

    def work(n: int) -> Any:
        values = {name: value.detach() for name, value in model.named_parameters()}
        found = grad(loss)(values, tokens(seed=n))
        for name, parameter in model.named_parameters():
            parameter.grad = found[name]
        return list(found.values())

    return stepped(model, work)


@situation("gradients of each sample, clipped and added up", later=True)
def private() -> Made:
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return functional_call(model, values, (x.unsqueeze(0),)).square().sum()

    def work(n: int) -> Any:
        values = {name: value.detach() for name, value in model.named_parameters()}
        found = vmap(grad(loss), (None, 0))(values, normal(5, 4, seed=n))
        sizes = torch.stack([each.flatten(1).norm(dim=1) for each in found.values()]).norm(dim=0)
        factor = (0.5 / sizes).clamp(max=1)
        for name, parameter in model.named_parameters():
            parameter.grad = torch.einsum("n,n...->...", factor, found[name])
        return sizes

    return stepped(model, work)


class Checkpointed(Net):
    """One block is run again the old way, the other the new one."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(batch)
        hidden = hidden + checkpoint(self.blocks[0], hidden, use_reentrant=True)
        hidden = hidden + checkpoint(self.blocks[1], hidden, use_reentrant=False)
        return self.head(hidden)  # type: ignore[no-any-return]


@situation("checkpoints of both kinds within micro-batches", later=True)
def checkpointed() -> Made:
    model = Checkpointed()

    def work(n: int) -> Any:
        model.zero_grad()
        losses = []
        for k in range(2):
            batch = tokens(seed=2 * n + k)
            losses.append(loss_of(model(batch), batch) / 2)
            losses[-1].backward()
        return losses

    return stepped(model, work)


@situation("a penalty on gradients", later=True, core=True)
def penalised() -> Made:
    model = nn.Sequential(nn.Linear(4, 8), nn.Softplus(), nn.Linear(8, 1))

    def work(n: int) -> Any:
        model.zero_grad()
        x = normal(5, 4, seed=n).requires_grad_()
        out = model(x).sum()
        (slope,) = torch.autograd.grad(out, x, create_graph=True)
        loss = (slope.norm(dim=1) - 1).square().mean() - out.detach()
        loss.backward()
        return loss

    return stepped(model, work)


@situation("an inner loop that is learnt through", later=True)
def meta() -> Made:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def work(n: int) -> Any:
        model.zero_grad()
        values = dict(model.named_parameters())
        for k in range(2):
            inner = functional_call(model, values, (normal(5, 4, seed=n + k),)).square().mean()
            slopes = torch.autograd.grad(inner, list(values.values()), create_graph=True)
            moved = zip(values.items(), slopes, strict=True)
            values = {name: value - 0.1 * slope for (name, value), slope in moved}
        outer = functional_call(model, values, (normal(5, 4, seed=9),)).square().mean()
        outer.backward()
        return outer

    return stepped(model, work)


@situation("weights shared by threads that each have a model", later=True)
def by_threads() -> Made:
    model = Net()

    def work(n: int) -> Any:
        model.zero_grad()
        replicas = [copy.deepcopy(model) for _ in range(2)]
        for replica in replicas:
            for name, own in list(model.named_parameters()):
                owner, _, last = name.rpartition(".")
                setattr(replica.get_submodule(owner), last, own)
        losses: dict[int, torch.Tensor] = {}

        def run(k: int) -> None:
            batch = tokens(seed=2 * n + k)
            losses[k] = loss_of(replicas[k](batch), batch)

        threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (losses[0] + losses[1]).backward()
        return losses[0], losses[1]

    return stepped(model, work)


@situation("an optimizer's state that is read back", later=True, steps=3)
def read_back() -> Made:
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    kept: list[Any] = []

    def step(n: int) -> Any:
        loss = train(model, tokens(seed=n))
        optimizer.step()
        if n == 0:
            kept[:] = copy.deepcopy([model.state_dict(), optimizer.state_dict()])
        if n == 1:
            model.load_state_dict(kept[0])
            optimizer.load_state_dict(kept[1])
        return loss

    return model, step, optimizer


@situation("parts that are frozen in turn", later=True, steps=4)
def in_turn() -> Made:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(n: int) -> Any:
        model.blocks[0].requires_grad_(n % 2 == 0)
        model.blocks[1].requires_grad_(n % 2 == 1)
        optimizer.zero_grad()
        loss = loss_of(model(tokens(seed=n)), tokens(seed=n))
        loss.backward()
        optimizer.step()
        return loss

    return model, step, optimizer


@situation("gradients kept and set to zero by turns", later=True, steps=3)
def zeroed() -> Made:
    model = Net()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=torch.tensor(0.01), foreach=False)

    def step(n: int) -> Any:
        optimizer.zero_grad(set_to_none=n % 2 == 0)
        loss = loss_of(model(tokens(seed=n)), tokens(seed=n))
        loss.backward()
        optimizer.step()
        return loss

    return model, step, optimizer


@situation("hooks that come and go from step to step", later=True, steps=3)
def moving_hooks() -> Made:
    model = Net()
    seen: list[float] = []

    def work(n: int) -> Any:
        block = model.blocks[n % 2]
        handles = [
            block.register_full_backward_hook(lambda *_: seen.append(1.0)),
            block.register_forward_hook(lambda _m, _a, out: out * 1.5),
            model.head.weight.register_hook(lambda g: g * 0.5),
            model.head.bias.register_post_accumulate_grad_hook(lambda p: seen.append(2.0)),
        ]
        loss = train(model, tokens(seed=n))
        for handle in handles:
            handle.remove()
        return loss, list(seen)

    return stepped(model, work)


@situation(
    "noise that a hook of the user's adds to gradients", later=True, uncompared=("graph mode",)
)
def noisy() -> Made:
    model = Net()
    made = stepped(model, lambda n: train(model, tokens(seed=n)))

    def add(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for k, each in enumerate(optimizer.param_groups[0]["params"]):
            each.grad.add_(normal(*each.shape, seed=k), alpha=0.01)

    made[2].register_step_pre_hook(add)
    return made


@situation("a search along a line within a closure", later=True)
def line_search() -> Made:
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, line_search_fn="strong_wolfe")

    def step(n: int) -> Any:
        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(normal(5, 4, seed=n)).square().mean()
            loss.backward()
            return loss

        return optimizer.step(closure)

    return model, step, optimizer


@situation("rates that move with each micro-batch", later=True)
def one_cycle() -> Made:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=12)

    def step(n: int) -> Any:
        optimizer.zero_grad()
        losses = []
        for k in range(3):
            losses.append(loss_of(model(tokens(seed=n + k)), tokens(seed=n + k)))
            losses[-1].backward()
            if n or k:  # torch wants the first step before the first rate
                rates.step()
        optimizer.step()
        return losses, rates.get_last_lr()

    return model, step, optimizer


class Sharpness(torch.optim.Optimizer):
    """Climbs to the worst place nearby, asks for its gradient, and steps from where it was."""

    def __init__(self, parameters: Any, base: Any, **options: Any) -> None:
        super().__init__(parameters, options)
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = torch.enable_grad()(closure)()
        taken = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        size = torch.stack([p.grad.norm() for p in taken]).norm()
        moves = [p.grad * (0.05 / size) for p in taken]
        torch._foreach_add_(taken, moves)
        torch.enable_grad()(closure)()
        torch._foreach_sub_(taken, moves)
        self.base.step()
        return loss


@situation("a step from the worst place nearby", later=True)
def sharpness() -> Made:
    model = Net()
    optimizer = Sharpness(model.parameters(), torch.optim.SGD, lr=0.1)
    return model, lambda n: optimizer.step(lambda: train(model, tokens(seed=n))), optimizer


@situation("a state that is cut off from the step before", later=True, steps=3, core=True)
def truncated() -> Made:
    model = nn.ModuleDict({"cell": nn.LSTM(4, 6, batch_first=True), "head": nn.Linear(6, 1)})
    states: list[Any] = [None]

    def work(n: int) -> Any:
        model.zero_grad()
        out, state = model["cell"](normal(2, 5, 4, seed=n), states[0])
        states[0] = tuple(each.detach() for each in state)
        loss = model["head"](out).square().mean()
        loss.backward()
        return loss

    return stepped(model, work)


@situation("gradients for some inputs alone", later=True)
def some_inputs() -> Made:
    model = Net()

    def work(n: int) -> Any:
        model.zero_grad()
        loss = loss_of(model(tokens(seed=n)), tokens(seed=n))
        loss.backward(inputs=list(model.head.parameters()), retain_graph=True)
        rest = list(model.blocks.parameters())
        for parameter, found in zip(rest, torch.autograd.grad(loss, rest), strict=True):
            parameter.grad = found if parameter.grad is None else parameter.grad.add_(found)
        return loss

    return stepped(model, work)


@situation("wide copies of narrow weights", later=True)
def wide_copies() -> Made:
    model = Net().bfloat16()
    wide = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.Adam(wide, lr=0.01)

    def step(n: int) -> Any:
        model.zero_grad()
        loss = loss_of(model(tokens(seed=n)).float(), tokens(seed=n))
        loss.backward()
        for own, narrow in zip(wide, model.parameters(), strict=True):
            assert narrow.grad is not None
            own.grad = narrow.grad.float()
        nn.utils.clip_grad_norm_(wide, 0.1)
        optimizer.step()
        with torch.no_grad():
            for own, narrow in zip(wide, model.parameters(), strict=True):
                narrow.copy_(own)
        return loss

    return model, step, optimizer


@situation("a child process that trains in shared memory", later=True)
def hogwild() -> Made:
    model = Net().share_memory()
    found = [torch.zeros_like(p).share_memory_() for p in model.parameters()]

    def work(n: int) -> Any:
        child = os.fork()
        if child == 0:
            train(model, tokens(seed=n))
            for into, parameter in zip(found, model.parameters(), strict=True):
                into.copy_(parameter.grad)  # type: ignore[arg-type]
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        for gradient, parameter in zip(found, model.parameters(), strict=True):
            parameter.grad = gradient.clone()
        return code

    return stepped(model, work)


@situation("clipped, then added to", later=True, own_gradients=BEFORE_CLIPPING)
def clipped_then_more() -> Made:
    model = Net()

    def work(n: int) -> Any:
        loss = train(model, tokens(seed=n))
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        more = loss_of(model(tokens(seed=7)), tokens(seed=7))
        more.backward()
        return loss, more

    return stepped(model, work)
