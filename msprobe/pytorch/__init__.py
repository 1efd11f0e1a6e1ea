"""The dumper under the name that users know: `from msprobe.pytorch import PrecisionDebugger`."""

from msprobe_core.debugger import PrecisionDebugger
from msprobe_core.seeding import seed_all

__all__ = ["PrecisionDebugger", "seed_all"]
