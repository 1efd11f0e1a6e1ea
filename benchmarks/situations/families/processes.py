"""Threads, tasks, processes and signals within a step."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.situations.situation import Made, Net, normal, situation, tokens, train


def at_once(works: list[Any]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@situation("threads, forward", core=True)
def threads_forward() -> Made:
    models = nn.ModuleList([Net() for _ in range(3)])

    def step(_: int) -> Any:
        found: dict[int, torch.Tensor] = {}

        def work(k: int) -> None:
            with torch.no_grad():
                found[k] = models[k](tokens(seed=k))

        at_once([lambda k=k: work(k) for k in range(3)])
        return [found[k] for k in sorted(found)]

    return models, step


@situation("threads, backward", core=True)
def threads_backward() -> Made:
    models = nn.ModuleList([Net() for _ in range(3)])

    def step(_: int) -> Any:
        at_once([lambda k=k: train(models[k], tokens(seed=k)) for k in range(3)])
        return 0

    return models, step


@situation("tasks of asyncio")
def tasks() -> Made:
    model = Net()

    async def one(k: int) -> torch.Tensor:
        hidden = model.embed(tokens(seed=k))
        await asyncio.sleep(0)
        return model.head(hidden).detach()  # type: ignore[no-any-return]

    async def every() -> list[torch.Tensor]:
        return list(await asyncio.gather(*(one(k) for k in range(3))))

    return model, lambda _: asyncio.run(every())


@situation("fork within the step", core=True)
def fork() -> Made:
    model = Net()

    def step(_: int) -> Any:
        loss = train(model)
        child = os.fork()
        if child == 0:
            x = torch.ones(4)
            for _ in range(600):
                x = x * 1.01
            os._exit(0)
        return loss, os.waitpid(child, 0)[1]

    return model, step


class Made16(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> torch.Tensor:
        x = torch.full((6,), at)
        for _ in range(200):
            x = (x * 3 + 1) % 16
        return x


@situation("a loader with workers, forked", core=True)
def forked_workers() -> Made:
    model = Net()

    def step(_: int) -> Any:
        loader = DataLoader(Made16(), 2, num_workers=1, multiprocessing_context="fork")
        return [train(model, batch) for batch in loader]

    return model, step


@situation("a loader with workers, spawned", steps=1)
def spawned_workers() -> Made:
    model = Net()

    def step(_: int) -> Any:
        loader = DataLoader(Made16(), 2, num_workers=1, multiprocessing_context="spawn")
        return [train(model, batch) for batch in loader]

    return model, step


class Interrupting(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        os.kill(os.getpid(), signal.SIGINT)
        return x * 2


@situation("Ctrl-C in the middle", core=True)
def interrupt() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), Interrupting(), nn.Linear(4, 4))

    def step(_: int) -> Any:
        try:
            model(normal(2, 4))
        except KeyboardInterrupt:
            said = "interrupted"
        loss = model[2](normal(2, 4)).sum()
        loss.backward()
        return said, loss

    return model, step


@situation("a signal with a handler")
def handled() -> Made:
    model = Net()

    def step(_: int) -> Any:
        seen: list[float] = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(float(torch.ones(3).sum())))
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
            return train(model), seen
        finally:
            signal.signal(signal.SIGUSR1, before)

    return model, step
