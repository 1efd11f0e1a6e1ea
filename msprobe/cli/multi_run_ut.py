"""`msprobe multi_run_ut`: the name that multi_acc_check had until 2025."""

from __future__ import annotations

from msprobe.cli.multi_acc_check import add_arguments, run

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "former name of multi_acc_check"
