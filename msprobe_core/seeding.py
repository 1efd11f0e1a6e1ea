"""Fixes the randomness of a run, so that two runs can be compared at all."""

from __future__ import annotations

import os
import random
import sys

import numpy as np
import torch


def seed_all(
    seed: int = 1234, mode: bool = False, rm_dropout: bool = False, is_enhanced: bool = False
) -> None:
    """Seed Python, NumPy and torch on all devices.

    `mode` also asks for deterministic algorithms; left False, the user's own setting stays.
    """
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the user's code draws from this generator
    torch.manual_seed(seed)
    npu = getattr(torch, "npu", None)
    if "torch_npu" in sys.modules and npu is not None:
        npu.manual_seed_all(seed)
    if mode:
        _be_deterministic()


def _be_deterministic() -> None:
    os.environ["HCCL_DETERMINISTIC"] = "true"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
