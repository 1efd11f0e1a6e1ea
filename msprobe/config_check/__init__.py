"""Compares what two runs were started with: environment, packages, hyper-parameters, data, weights.

Nothing here loads torch; `ConfigChecker`, which records a running model, does when it is made.
"""

from msprobe.config_check.recorder import ConfigChecker

__all__ = ["ConfigChecker"]
