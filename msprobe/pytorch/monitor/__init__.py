"""The monitor of mindstudio-probe under its own names: its configurations, hooks and tables."""

from msprobe.pytorch.monitor.trainer_mon import TrainerMon

__all__ = ["TrainerMon"]
