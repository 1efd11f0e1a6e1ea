"""The dumper under the name that users know: `from msprobe.pytorch import PrecisionDebugger`."""

from msprobe_core.acl_graph import AclGraphDumper
from msprobe_core.debugger import PrecisionDebugger, module_dump, module_dump_end, save
from msprobe_core.randomness import random_save
from msprobe_core.seeding import seed_all

__all__ = [
    "AclGraphDumper",
    "PrecisionDebugger",
    "module_dump",
    "module_dump_end",
    "random_save",
    "save",
    "seed_all",
]
