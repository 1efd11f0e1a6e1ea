"""A stand-in accelerator, `standin:0`: tensors of its own device whose operators the CPU computes.

`python -m tests.msprobe.acc_check.stand_in [--faulty]` checks the recorded sample on it and prints
one JSON object of verdicts. A process of its own, since a device cannot be unregistered.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "standin"


class StandInTensor(torch.Tensor):
    """Lies on the stand-in device; `data_on_cpu` holds its numbers."""

    data_on_cpu: torch.Tensor

    @staticmethod
    def __new__(cls: type[StandInTensor], data: torch.Tensor) -> StandInTensor:
        made: StandInTensor = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, data.shape, strides=data.stride(), dtype=data.dtype, device=f"{NAME}:0"
        )
        made.data_on_cpu = data
        return made

    @classmethod
    def __torch_dispatch__(
        cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        target = kwargs.pop("device", None)
        if func is torch.ops.aten.copy_.default:
            into, source = args[0], args[1]
            _data(into).copy_(_data(source))
            return into
        result = func(*tree_map(_data, args), **tree_map(_data, kwargs))
        if func._schema.is_mutable:
            return args[0]
        stays = target is None or torch.device(target).type == NAME
        return tree_map(_wrapped, result) if stays else result


def _data(value: Any) -> Any:
    return value.data_on_cpu if isinstance(value, StandInTensor) else value


def _wrapped(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not isinstance(value, StandInTensor):
        return StandInTensor(value)
    return value


def register() -> None:
    """Make `standin:0` a device of this process."""
    _setup_privateuseone_for_python_backend(NAME)
    library = torch.library.Library("aten", "IMPL")

    def empty(size: Any, dtype: Any = None, **_: Any) -> StandInTensor:
        return StandInTensor(torch.empty(size, dtype=dtype))

    def empty_strided(size: Any, stride: Any, dtype: Any = None, **_: Any) -> StandInTensor:
        return StandInTensor(torch.empty_strided(size, stride, dtype=dtype))

    library.impl("empty.memory_format", empty, "PrivateUse1")
    library.impl("empty_strided", empty_strided, "PrivateUse1")
    vars(sys.modules[__name__])["_LIBRARY"] = library  # it registers as long as it lives


def main() -> None:
    """Check the sample; with --faulty the device's matrix products are 0.3 % too large."""
    from msprobe.acc_check.call_check import check_call
    from msprobe.acc_check.devices import choose_pair, describe
    from msprobe.acc_check.inputs import Source
    from tests.msprobe.acc_check.calls import sample_calls

    register()
    if "--faulty" in sys.argv:
        _break_products()
    pair = choose_pair([f"{NAME}:0"], 0, "float64", 1)
    rows = [check_call(call, Source(None, 1), pair).row for call in sample_calls().values()]
    verdicts = {row.name: [row.forward, row.backward, row.message] for row in rows}
    print(json.dumps({"pair": describe(pair), "verdicts": verdicts}))


def _break_products() -> None:
    right = StandInTensor.__dict__["__torch_dispatch__"].__func__

    def dispatch(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = right(cls, func, types, args, kwargs)
        if func is torch.ops.aten.addmm.default:
            return StandInTensor(_data(result) * 1.003)
        return result

    StandInTensor.__torch_dispatch__ = classmethod(dispatch)  # type: ignore[assignment]


if __name__ == "__main__":
    main()
