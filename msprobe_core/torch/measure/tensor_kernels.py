"""Numbers and sketch of a tensor on the CPU in one reading, where there is the kernel.

Without it torch's reductions do the same in four readings (`numbers`, `sketch`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from msprobe_core.values.one_pass import LIBRARY, Kernel, Read, read_elements
from msprobe_core.values.one_pass import load as load_kernels

_FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_address_of: Callable[[torch.Tensor], int] = torch._C.TensorBase.data_ptr


def load(library: Path) -> dict[torch.dtype, Kernel]:
    """The kernel for each format; none where the package was built without, or for elsewhere."""
    return {_FORMATS[name]: kernel for name, kernel in load_kernels(library).items()}


kernels = load(LIBRARY)


def read_once(flat: torch.Tensor, sketched: bool) -> Read | None:
    """Read a tensor of one dimension on the CPU; None without a kernel, or where some elements are
    not finite.
    """
    kernel = kernels.get(flat.dtype)
    if kernel is None or not flat.is_cpu or flat.is_neg():  # negated by a mark, not in memory
        return None
    address = _address_of(flat)
    if not address:  # nothing may be read there: the process would end
        return None
    return read_elements(kernel, address, flat.numel(), flat.stride(0), sketched)
