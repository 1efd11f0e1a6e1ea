"""Runs mindstudio-probe's acc_check on a machine without CUDA or NPU, for `benchmarks.acc_check`.

That tool refuses such a machine; here the CPU stands in as its device. Run it with the Python that
mindstudio-probe is installed for; arguments are those of its acc_check.
"""

from __future__ import annotations

import importlib
import sys

import torch

ROOM = "msprobe.pytorch.api_accuracy_checker.acc_check"


def main() -> None:
    """Name the CPU as the device and start."""
    torch.set_num_threads(1)
    torch.cuda.set_device = lambda _: None  # type: ignore[assignment, misc]
    torch.cuda.empty_cache = lambda: None
    for name in ("acc_check", "acc_check_utils"):
        vars(importlib.import_module(f"{ROOM}.{name}"))["current_device"] = "cpu"
    command = importlib.import_module("msprobe.core.acc_check.acc_check_cli")
    command.acc_check_cli(sys.argv[1:])


if __name__ == "__main__":
    main()
