"""Which device a call is checked on, and what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, util

import torch

from builder.errors import InputError
from msprobe.acc_check.framework import Pair, Place

_TF32, _HF32 = 2.0**-11, 2.0**-12
_COMPILED = "compile"
_EXACT = "float64"
_HINT = "give -d cpu, -d compile or another device"


def choose_pair(devices: Sequence[str], number: int, reference: str, seed: int) -> Pair:
    """The pair of worker `number`.

    `devices` are ids of the machine's accelerator or names (`cpu`, `cuda:0`, `npu:0`, `compile`),
    given out in turn; without any it is the first accelerator, on a machine that has none the CPU.
    Raises InputError for a device that is not there, and for a torch_npu that cannot be loaded.
    """
    device = _place(devices[number % len(devices)]) if devices else Place(_first())
    other = None if reference == _EXACT else _place(reference)
    return Pair(device, other, _shortened(device.device), seed=seed)


def describe(pair: Pair) -> str:
    """One line: what is compared with what."""
    compiled = " under torch.compile" if pair.device.compiled else ""
    other = "CPU in float64" if pair.reference is None else pair.reference.device
    return f"{pair.device.device}{compiled} against {other}"


def compile_operators() -> None:
    """What -j does: an NPU compiles operators just in time instead of using binaries."""
    npu = getattr(torch, "npu", None)
    if npu is not None:
        npu.set_compile_mode(jit_compile=True)


def _place(name: str) -> Place:
    if name == _COMPILED:
        return Place(_first(), compiled=True)
    if name.isdecimal():
        return Place(_numbered(int(name)))
    if name.startswith("npu"):
        _load_npu()
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"device {name}: cannot be used here ({said})", _HINT) from None
    return Place(name)


def _first() -> str:
    """The first accelerator, or the CPU."""
    kind = _accelerator()
    return "cpu" if kind is None else f"{kind}:0"


def _numbered(number: int) -> str:
    kind = _accelerator()
    if kind is None:
        raise InputError(f"device {number}: torch sees no accelerator on this machine", _HINT)
    count = _count(kind)
    if number >= count:
        raise InputError(f"device {number}: this machine has {count} of {kind}, from 0 on", _HINT)
    return f"{kind}:{number}"


def _accelerator() -> str | None:
    _load_npu()
    for kind in ("npu", "cuda", "xpu", "mps"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            return kind
    return None


def _count(kind: str) -> int:
    return int(getattr(torch, kind).device_count())


def _load_npu() -> None:
    """Let torch_npu register itself as torch.npu, where it is installed."""
    if util.find_spec("torch_npu") is None:
        return
    try:
        import_module("torch_npu")
    except Exception as error:  # a driver that is missing raises whatever it likes
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"torch_npu: cannot be imported ({type(error).__name__}: {said})",
            "source the CANN set_env.sh, or give -d cpu",
        ) from error


def _shortened(device: str) -> tuple[float, float]:
    """Units to which float32 inputs of matrix products and convolutions are rounded there."""
    if device.startswith("cuda"):
        matrix = torch.backends.cuda.matmul.allow_tf32
        return _TF32 if matrix else 0.0, _TF32 if torch.backends.cudnn.allow_tf32 else 0.0
    return (0.0, _HF32) if device.startswith("npu") else (0.0, 0.0)
