"""Environment variables that change what a run computes, on NVIDIA and on Ascend devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from msprobe.config_check.sheet import Level, Sheet
from msprobe.config_check.value_meaning import normalised, same_switch

HEADER = ("bench_env_name", "cmp_env_name", "bench_value", "cmp_value", "level")
Device = Literal["npu", "gpu"]
_PREFIXES: tuple[tuple[Device, tuple[str, ...]], ...] = (
    ("npu", ("ASCEND_", "HCCL_", "NPU_", "ATB_", "LCCL_")),
    ("gpu", ("CUDA_", "NCCL_", "NVIDIA_", "CUBLAS_")),
)
_DEVICES = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True)
class Variable:
    """One setting under its name on each kind of device; `default` holds where it is not set."""

    npu: str | None
    gpu: str | None
    default: object

    def name_on(self, device: Device | None) -> str | None:
        """The name on a device; on an unknown one the name that there is."""
        if device is None:
            return self.npu or self.gpu
        return self.npu if device == "npu" else self.gpu


VARIABLES = (
    # NCCL has no switch for determinism: its counterpart is the choice of algorithm below.
    Variable("HCCL_DETERMINISTIC", None, False),
    Variable("HCCL_ALGO", "NCCL_ALGO", "None"),
    Variable("HCCL_INTRA_ROCE_ENABLE", None, 0),
    Variable("HCCL_INTRA_PCIE_ENABLE", None, 1),
    Variable("ASCEND_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", 0),
    Variable("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "None"),
    Variable("LCCL_DETERMINISTIC", None, 0),
    Variable("ATB_MATMUL_SHUFFLE_K_ENABLE", None, 1),
    Variable("CLOSE_MATMUL_K_SHIFT", None, 0),
    Variable("INF_NAN_MODE_ENABLE", None, 1),
    Variable(None, "CUBLAS_WORKSPACE_CONFIG", "None"),
    Variable(None, "NVIDIA_TF32_OVERRIDE", "None"),
    Variable(None, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", 0),
)


def compare_environments(bench: Mapping[str, str], other: Mapping[str, str]) -> Sheet:
    """Rows for settings that differ; `other` is the environment to compare with the benchmark."""
    devices = _device(bench), _device(other)
    rows = [row for variable in VARIABLES for row in _row(variable, bench, other, devices)]
    return Sheet("env", HEADER, rows, Sheet.worst(str(row[-1]) for row in rows))


def _device(environment: Mapping[str, str]) -> Device | None:
    devices = {d for d, prefixes in _PREFIXES if any(n.startswith(prefixes) for n in environment)}
    return devices.pop() if len(devices) == 1 else None


def _row(
    variable: Variable,
    bench: Mapping[str, str],
    other: Mapping[str, str],
    devices: tuple[Device | None, Device | None],
) -> Iterator[tuple[object, ...]]:
    names = [name for name in (variable.npu, variable.gpu) if name is not None]
    ours = next((name for name in names if name in bench), None)
    theirs = next((name for name in names if name in other), None)
    if ours is None and theirs is None:
        return
    values = [
        variable.default if name is None else side[name]
        for name, side in ((ours, bench), (theirs, other))
    ]
    if same_switch(*values):
        return
    # A side that sets nothing is shown under its own device's name, or the other side's.
    ours = ours or _unset_name(variable, devices[0], theirs)
    theirs = theirs or _unset_name(variable, devices[1], ours)
    if theirs is None:
        yield ours, "only bench has this env", values[0], None, "warning"
    elif ours is None:
        yield "only cmp has this env", theirs, None, values[1], "warning"
    else:
        yield ours, theirs, *values, _level(ours, *values)


def _unset_name(variable: Variable, device: Device | None, set_name: str | None) -> str | None:
    return set_name if device is None else variable.name_on(device)


def _level(name: str, bench: object, other: object) -> Level:
    """Other devices in the same number compute the same."""
    if name in _DEVICES and "None" not in (bench, other):
        counts = {
            str(value).count(",") for value in (bench, other) if normalised(value) is not None
        }
        return "warning" if len(counts) == 1 else "error"
    return "error"
