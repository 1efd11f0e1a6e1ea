"""Tables of the monitor as TensorBoard's events, by the name that scripts import."""

from msprobe.trends.trend_tables import csv2tensorboard_by_step

__all__ = ["csv2tensorboard_by_step"]
