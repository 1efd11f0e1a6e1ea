"""Run by the tests in each of two ranks: python … OUT; asynchronous collectives and P2POps.

Each kind hands a buffer to collectives, waits in some way, and writes it over at once: what is
recorded of it must be what has arrived. The truth lies in a file beside the dump.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import P2POp, irecv, isend

from msprobe.pytorch import PrecisionDebugger
from msprobe.pytorch.monitor.collective_rows import CollectiveHooks

SIZE = 300_000
"""Large enough that gloo is not done at once."""


def buffer(value: float = 0.0) -> torch.Tensor:
    return torch.full((SIZE,), value + 1.0 + dist.get_rank())


def reduced(wait: Callable[[Any, torch.Tensor], None]) -> Callable[[], None]:
    def run() -> None:
        x = buffer()
        work = dist.all_reduce(x, async_op=True)
        wait(work, x)
        x.mul_(100)

    return run


def polled(work: Any, _: torch.Tensor) -> None:
    while not work.is_completed():
        time.sleep(0.001)


def divided(work: Any, x: torch.Tensor) -> None:
    """As hooks of DDP do: a callback writes what has arrived."""
    work.get_future().then(lambda done: done.value()[0].mul_(7)).wait()


def gathered() -> None:
    parts = [torch.zeros(SIZE) for _ in range(2)]
    work = dist.all_gather(parts, buffer(), async_op=True)
    assert work is not None
    work.wait()
    for part in parts:
        part.add_(7)


def gathered_at_once() -> None:
    whole = torch.zeros(2 * SIZE)
    work = dist.all_gather_into_tensor(whole, buffer(), async_op=True)
    assert work is not None
    work.wait()
    whole.add_(7)


def scattered() -> None:
    part = torch.zeros(SIZE)
    whole = torch.ones(2 * SIZE) * (1 + dist.get_rank())
    work = dist.reduce_scatter_tensor(part, whole, async_op=True)
    assert work is not None
    work.wait()
    part.add_(7)


def two_at_once() -> None:
    x, y = buffer(), buffer(10)
    first, second = dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)
    assert first is not None and second is not None
    second.wait()
    y.mul_(100)
    first.wait()
    x.mul_(100)


def in_a_block(async_ops: bool) -> Callable[[], None]:
    def run() -> None:
        x, y = buffer(), buffer(10)
        with dist._coalescing_manager(async_ops=async_ops) as block:  # type: ignore[attr-defined]
            dist.all_reduce(x, async_op=async_ops)
            dist.all_reduce(y, async_op=async_ops)
        if async_ops:
            block.wait()
        x.mul_(100)
        y.mul_(100)

    return run


def operations(send: Any, receive: Any) -> tuple[torch.Tensor, list[P2POp]]:
    other, x = 1 - dist.get_rank(), torch.zeros(3)
    return x, [P2POp(send, torch.ones(3) * (dist.get_rank() + 1), other), P2POp(receive, x, other)]


def run_all(kept: list[P2POp]) -> None:
    for work in dist.batch_isend_irecv(kept):
        work.wait()


def by_name() -> None:
    x, made = operations(isend, irecv)
    run_all(made)
    assert x[0] == 2 - dist.get_rank()


def by_attribute() -> None:
    x, made = operations(dist.isend, dist.irecv)
    assert [each.op for each in made] == [isend, irecv]
    assert made[0].op is dist.isend
    run_all(made)
    assert x[0] == 2 - dist.get_rank()


def one_by_one() -> None:
    other, x = 1 - dist.get_rank(), torch.zeros(SIZE)
    works = [isend(buffer(), other), dist.irecv(x, src=other)]
    for work in works:
        assert work is not None
        work.wait()
    assert x[0] == 2 - dist.get_rank()
    x.mul_(100)


REDUCED = {
    "wait": lambda work, _: work.wait(),
    "future": lambda work, _: work.get_future().wait(),
    "callback": divided,
    "polled": polled,
}
KINDS: dict[str, Callable[[], None]] = {
    **{f"reduced, {name}": reduced(wait) for name, wait in REDUCED.items()},
    "gathered": gathered,
    "gathered at once": gathered_at_once,
    "scattered": scattered,
    "two at once": two_at_once,
    "block": in_a_block(False),
    "asynchronous block": in_a_block(True),
    "by name": by_name,
    "by attribute": by_attribute,
    "one by one": one_by_one,
}


def record(folder: Path) -> None:
    x, kept = operations(dist.isend, dist.irecv)
    for level in ("L1", "mix"):
        for name, run in KINDS.items():
            where = str(folder / f"{name}.{level}")
            debugger = PrecisionDebugger(dump_path=where, level=level)
            debugger.start(nn.Sequential(nn.Linear(2, 2)))
            run()
            debugger.stop()
            debugger.step()
            debugger.close()
    debugger = PrecisionDebugger(dump_path=str(folder / "kept"), level="L1")
    for _ in range(2):
        debugger.start(nn.Linear(2, 2))
        run_all(kept)
        y, made = operations(dist.isend, dist.irecv)
        debugger.stop()
        debugger.step()
        run_all(made)
        assert x[0] == y[0] == 2 - dist.get_rank()
    debugger.start(nn.Linear(2, 2))
    big = buffer()
    late = dist.all_reduce(big, async_op=True)
    debugger.stop()
    debugger.step()
    late.wait()  # type: ignore[union-attr]
    debugger.close()


def measure(folder: Path) -> None:
    """The same under the monitor's hooks."""
    rows: dict[str, dict[str, list[float]]] = {}
    for name, run in KINDS.items():
        found: dict[str, list[float]] = {}

        def note(row: str, x: torch.Tensor, found: dict[str, list[float]] = found) -> None:
            found.setdefault(row, []).append(x.max().item())

        hooks = CollectiveHooks({}, note)
        run()
        hooks.end_step()
        hooks.close()
        rows[name] = found
    (folder / f"rows{dist.get_rank()}.json").write_text(json.dumps(rows))


def methods() -> dict[str, object]:
    owners: tuple[Any, ...] = (dist.Work, torch._C.Future, dist.ProcessGroup, dist)
    owners += (dist.distributed_c10d,)
    return {f"{o.__name__}.{k}": v for o in owners for k, v in vars(o).items() if callable(v)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    out = Path(sys.argv[1])
    before = methods()
    record(out)
    measure(out)
    after = methods()
    left = [name for name in before if after[name] is not before[name]]
    assert not left, left
