"""The dumper under the name that users know: `from msprobe.pytorch import PrecisionDebugger`."""

from msprobe.pytorch import compare
from msprobe.pytorch.compare.former import compare_distributed
from msprobe.pytorch.monitor import TrainerMon
from msprobe.pytorch.trends import Trends
from msprobe_core.debugger import PrecisionDebugger, module_dump, module_dump_end, save
from msprobe_core.torch.graph.acl_graph_dumper import AclGraphDumper, acl_save
from msprobe_core.torch.randomness import random_save
from msprobe_core.torch.seeding import seed_all
from msprobe_core.torch.torchair_dump import set_fx_dump_config

__all__ = [
    "AclGraphDumper",
    "PrecisionDebugger",
    "TrainerMon",
    "Trends",
    "acl_save",
    "compare",
    "compare_distributed",
    "module_dump",
    "module_dump_end",
    "random_save",
    "save",
    "seed_all",
    "set_fx_dump_config",
]
