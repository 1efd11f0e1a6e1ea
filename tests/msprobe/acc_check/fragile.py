"""A worker in which two functions behave like broken kernels: one ends the process, one hangs."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

from msprobe.acc_check.functions import Function, find_function
from msprobe.acc_check.plan import Call
from msprobe.acc_check.worker import Setup, work

ENDING, HANGING = "abort_the_process", "never_return"


def broken(api: str) -> Call:
    return Call(f"Torch.{api}.0", "Torch", api, {"input_args": [], "input_kwargs": {}})


def fragile_work(connection: Connection, number: int, setup: Setup) -> None:
    with mock.patch("msprobe.acc_check.pytorch.find_function", _find):
        work(connection, number, setup)


def _find(prefix: str, api: str) -> Function:
    return {ENDING: os.abort, HANGING: _hang}.get(api) or find_function(prefix, api)


def _hang(*_: Any) -> None:
    while True:
        time.sleep(1)
