"""A process that checks calls one after the other; it may die of a call, which costs that call."""

from __future__ import annotations

import signal
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from msprobe.acc_check.plan import Call
from msprobe.acc_check.rows import BLANK, CallRow
from msprobe.acc_check.standards import Standard


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
    import torch

    from builder.errors import InputError
    from msprobe.acc_check.devices import choose_pair, describe, set_jit
    from msprobe.acc_check.inputs import Source

    torch.set_num_threads(1)
    try:
        pair = choose_pair(setup.devices, number, setup.reference, setup.seed)
    except InputError as error:
        connection.send(Refused(error.message, error.hint))
        return
    if setup.jit_compile:
        set_jit(jit_compile=True)
    source = Source(setup.tensors, setup.seed)
    _row(_WARM_UP, Source(None, setup.seed), pair, replace(setup, error_data=None))
    connection.send(Ready(describe(pair)))
    while True:
        try:
            call = connection.recv()
        except EOFError:
            return
        try:
            row = _row(call, source, pair, setup)
        except Exception as error:  # one call that we cannot judge must not take others with it
            said = " ".join(str(error).split())
            reason = f"it could not be judged: {type(error).__name__}: {said}; please report this"
            row = CallRow(call.name, "SKIP", BLANK, reason)
        connection.send(row)


# Torch loads its matrix library, its autograd engine and more with the first call.
_TENSOR = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [64, 64]}
_GIVEN = {**_TENSOR, "Max": 1.0, "Min": -1.0, "requires_grad": True}
_WARM_UP = Call(
    "Functional.linear.0",
    "Functional",
    "linear",
    {"input_args": [_GIVEN, _GIVEN], "input_kwargs": {}, "output": [_TENSOR]},
    {"input": [_GIVEN], "output": []},
)


def _row(call: Call, source: object, pair: object, setup: Setup) -> CallRow:
    from msprobe.acc_check.call_check import Pair, check_call, verdicts
    from msprobe.acc_check.error_data import save_error_data
    from msprobe.acc_check.inputs import Source
    from msprobe.acc_check.standards import by_standard

    assert isinstance(source, Source)
    assert isinstance(pair, Pair)
    checked = check_call(call, source, pair)
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
