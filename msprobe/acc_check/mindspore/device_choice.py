"""Which of MindSpore's devices a process uses: one, from its first call on."""

from __future__ import annotations

from collections.abc import Sequence

import mindspore

from builder.errors import InputError
from msprobe.acc_check.framework import Pair, Place

_TARGETS = {"cpu": "CPU", "ascend": "Ascend", "npu": "Ascend", "gpu": "GPU", "cuda": "GPU"}
_HF32 = 2.0**-12
# MindSpore's library for the CPU approximates exp: measured are up to 3.3e-6 from -1 to 1, which is
# 27 units in the last place (MindSpore 2.10.0, AMD EPYC with AVX2), and more only as x is rounded.
_EXPONENTIAL_OF_CPU = 2.0**-18
_HINT = "give -d cpu, or the id of an accelerator"


def open_pair(devices: Sequence[str], number: int, reference: str, seed: int) -> Pair:
    """Choose the device of worker `number` and set it; raises InputError for one not there."""
    other = _reference(reference)
    target, index = _device(devices[number % len(devices)]) if devices else _first()
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    try:
        mindspore.set_device(target, index)
        mindspore.runtime.launch_blocking()  # an error belongs to the call that makes it
    except (RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"device {target}:{index}: cannot be used here ({said})", _HINT) from None
    name = target if target == "CPU" else f"{target}:{index}"
    shortened = (0.0, _HF32) if target == "Ascend" else (0.0, 0.0)
    approximate = _EXPONENTIAL_OF_CPU if target == "CPU" else 0.0
    return Pair(Place(name), other, shortened, approximate, seed)


def is_of_mindspore(place: Place) -> bool:
    """Whether a place is a device of MindSpore's; PyTorch writes its own in small letters."""
    return place.device.partition(":")[0] in _TARGETS.values()


def compile_operators() -> None:
    """Compile operators just in time; raises InputError where there is no such choice."""
    if mindspore.get_context("device_target") != "Ascend":
        raise InputError(
            "-j: MindSpore chooses between compiled operators on Ascend only", "leave -j out"
        )
    mindspore.device_context.ascend.op_tuning.op_compile(True)


def _reference(name: str) -> Place | None:
    if name == "float64":
        return None
    if name == "cpu":
        return Place()
    raise InputError(
        f"reference {name}: calls of MindSpore are compared with PyTorch on the CPU",
        "give --reference float64 or cpu",
    )


def _device(name: str) -> tuple[str, int]:
    if name == "compile":
        raise InputError(
            "device compile: calls of MindSpore are checked as they are, not compiled", _HINT
        )
    if name.isdecimal():
        return _numbered(int(name))
    kind, _, number = name.partition(":")
    target = _TARGETS.get(kind.lower())
    if target is None or (number and not number.isdecimal()):
        raise InputError(f"device {name}: MindSpore has CPU, Ascend and GPU", _HINT)
    if target != "CPU" and target not in _accelerators():
        raise InputError(f"device {name}: MindSpore sees no {target} on this machine", _HINT)
    return target, int(number or 0)


def _first() -> tuple[str, int]:
    return next(((target, 0) for target in _accelerators()), ("CPU", 0))


def _numbered(number: int) -> tuple[str, int]:
    for target, count in _accelerators().items():
        if number < count:
            return target, number
        raise InputError(f"device {number}: this machine has {count} of {target}", _HINT)
    raise InputError(f"device {number}: MindSpore sees no accelerator on this machine", _HINT)


def _accelerators() -> dict[str, int]:
    """How many there are of each kind that this MindSpore can use."""
    kinds = mindspore.device_context
    return {
        target: int(kind.device_count())
        for target, kind in (("Ascend", kinds.ascend), ("GPU", kinds.gpu))
        if kind.is_available()
    }
