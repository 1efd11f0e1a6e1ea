"""`from msprobe.core.config_check import ConfigChecker`, as users of mindstudio-probe write it."""

from msprobe.config_check import ConfigChecker

__all__ = ["ConfigChecker"]
