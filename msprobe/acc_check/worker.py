"""A process that checks calls one after the other; it may die of a call, which costs that call."""

from __future__ import annotations

import signal
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from builder.errors import InputError
from msprobe.acc_check.plan import Call
from msprobe.acc_check.rows import BLANK, CallRow
from msprobe.acc_check.standards import Standard
from msprobe_core.format.frameworks import PYTORCH, framework_named

if TYPE_CHECKING:
    from msprobe.acc_check.framework import Framework, Pair
    from msprobe.acc_check.inputs import Source


@dataclass(frozen=True, slots=True)
class Setup:
    """What all workers are told; `tensors` and `error_data` are folders, None for no such."""

    devices: tuple[str, ...] = ()
    reference: str = "float64"
    seed: int = 1234
    standard: Standard = "rounding"
    tensors: Path | None = None
    error_data: Path | None = None
    jit_compile: bool = False
    framework: str = PYTORCH.name


@dataclass(frozen=True, slots=True)
class Ready:
    """The first message of a worker: what it compares."""

    pair: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The first message of a worker that cannot work at all."""

    reason: str
    hint: str


def work(connection: Connection, number: int, setup: Setup) -> None:
    """Answer each call with its row until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    warnings.simplefilter("ignore")  # torch's advice on single operators is not for the user
    try:
        bench = _bench(number, setup)
    except InputError as error:
        connection.send(Refused(error.message, error.hint))
        return
    connection.send(Ready(bench.framework.describe(bench.pair)))
    while True:
        try:
            call = connection.recv()
        except EOFError:
            return
        try:
            row = _row(call, bench, setup)
        except Exception as error:  # one call that we cannot judge must not take others with it
            said = " ".join(str(error).split())
            reason = f"it could not be judged: {type(error).__name__}: {said}; please report this"
            row = CallRow(call.name, "SKIP", BLANK, reason)
        connection.send(row)


@dataclass(frozen=True, slots=True)
class _Bench:
    """What a worker checks its calls with."""

    framework: Framework
    source: Source
    pair: Pair


def _bench(number: int, setup: Setup) -> _Bench:
    """Load the framework, choose the devices and run a first call; raises InputError."""
    try:
        import torch

        from msprobe.acc_check.inputs import Source

        framework = _load(setup.framework)
    except ImportError as error:
        raise _missing(error) from None
    torch.set_num_threads(1)
    pair = framework.choose_pair(setup.devices, number, setup.reference, setup.seed)
    if setup.jit_compile:
        framework.compile_operators()
    drawn = _Bench(framework, Source(None, setup.seed), pair)
    _row(framework.warm_up, drawn, replace(setup, error_data=None))
    return replace(drawn, source=Source(setup.tensors, setup.seed))


def _load(name: str) -> Framework:
    from msprobe.acc_check.framework import Framework

    place = framework_named(name).acc_check
    framework = None if place is None else resolve_name(place)
    if not isinstance(framework, Framework):
        raise InputError(
            f"{name}: {place} is no msprobe.acc_check.framework.Framework",
            "name one in acc_check of the framework's description",
        )
    return framework


def _missing(error: ImportError) -> InputError:
    if error.name == "torch":
        return InputError(
            "acc_check needs PyTorch, which computes the reference for any framework",
            "pip install torch; that for the CPU is enough",
        )
    return InputError(str(error), "run acc_check where the framework of the dump is installed")


def _row(call: Call, bench: _Bench, setup: Setup) -> CallRow:
    from msprobe.acc_check.call_check import check_call, verdicts
    from msprobe.acc_check.error_data import save_error_data
    from msprobe.acc_check.standards import by_standard

    checked = check_call(call, bench.source, bench.pair, bench.framework)
    row = checked.row
    if row.values:
        values = [by_standard(value, setup.standard) for value in row.values]
        forward, backward = verdicts(call.name, values)
        row = replace(row, forward=forward, backward=backward, values=values)
    if setup.error_data is not None and not {row.forward, row.backward} <= {"pass", "SKIP", " "}:
        try:
            save_error_data(replace(checked, row=row), setup.error_data)
        except (OSError, RuntimeError) as error:  # torch says of a full disk what it likes
            said = " ".join(str(error).split())
            return replace(row, message=f"its data could not be kept in {setup.error_data}: {said}")
    return row
