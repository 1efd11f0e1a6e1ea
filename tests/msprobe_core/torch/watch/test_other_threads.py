"""Calls of API in threads that the recording's own thread has begun, or had before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import thread as pools

import pytest
import torch

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


def depth() -> int:
    return torch._C._len_torch_function_stack()


class OwnRun(threading.Thread):
    def run(self) -> None:
        torch.cos(torch.ones(2))


@pytest.mark.parametrize("level", ["L1", "mix"])
def test_threads_and_the_work_of_pools_are_recorded(
    level: str, debugger: Make, dumps: Read
) -> None:
    places = (threading.Thread._bootstrap_inner, pools._WorkItem.run)  # type: ignore[attr-defined]
    target, model = debugger(level=level), torch.nn.Sequential(torch.nn.Identity())
    called, stopped = threading.Event(), threading.Event()
    depths: list[int] = []

    def outliving() -> None:
        torch.tanh(torch.ones(2))
        called.set()
        stopped.wait()
        torch.tanh(torch.ones(2))
        torch.tanh(torch.ones(2))
        depths.append(depth())

    def failing() -> None:
        torch.exp(torch.ones(2))
        raise KeyError("the user's own")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(depth).result()  # its worker is older than the recording
        target.start(model)
        threads = [OwnRun(), threading.Thread(target=outliving)]
        for thread in threads:
            thread.start()
        pool.submit(torch.sin, torch.ones(2)).result()
        assert isinstance(pool.submit(failing).exception(), KeyError)
        threads[0].join()
        called.wait()
        target.stop()
        depths.append(pool.submit(depth).result())
        target.step()
        stopped.set()
        threads[1].join()
    assert places == (threading.Thread._bootstrap_inner, pools._WorkItem.run)  # type: ignore[attr-defined]
    assert depths == [0, 0] and depth() == 0
    recorded = {name.removesuffix(".0.forward") for name in dumps()[0].data}
    assert recorded == {"Torch.cos", "Torch.sin", "Torch.exp", "Torch.tanh"}
