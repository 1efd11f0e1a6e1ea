"""How a caller can use a tensor that a call returned as it was given.

After `x = drop(x)` all uses of the tensor use the result; `drop(x) * 2 + x` uses the result once.
"""

from __future__ import annotations

from types import FrameType
from typing import Literal

import torch

from msprobe_core.torch.names.bytecode import is_used_at_once, stored_after
from msprobe_core.torch.names.frame_locals import names_of

Uses = Literal["all", "next"] | None
"""Which later uses of the tensor are uses of the result; None where the code does not tell."""


def uses_of(caller: FrameType | None, returned: object) -> Uses:
    """Which uses by the caller of what is about to be returned are uses of the result."""
    while caller is not None and caller.f_code.co_filename == torch.nn.modules.module.__file__:
        caller = caller.f_back
    if caller is None:
        return None
    held = names_of(caller, returned)
    if not held or held == [stored_after(caller.f_code, caller.f_lasti)]:
        return "all"
    return "next" if is_used_at_once(caller.f_code, caller.f_lasti) else None
