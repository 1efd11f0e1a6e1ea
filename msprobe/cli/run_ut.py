"""`msprobe run_ut`: the name that acc_check had until 2025, in scripts that still use it."""

from __future__ import annotations

from msprobe.cli.acc_check import add_arguments, run

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "former name of acc_check"
