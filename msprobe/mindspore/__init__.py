"""The dumper of MindSpore under the name that users know: `from msprobe.mindspore import …`.

Importing it without MindSpore, or with one that it cannot record, says what to install.
"""

from msprobe_core.mindspore.requirements import check_requirements

check_requirements()

from msprobe_core.mindspore.fixed_seed import seed_all
from msprobe_core.mindspore.mindspore_debugger import (
    PrecisionDebugger,
    module_dump,
    module_dump_end,
    save,
)
from msprobe_core.mindspore.step_callback import MsprobeStep

__all__ = [
    "MsprobeStep",
    "PrecisionDebugger",
    "module_dump",
    "module_dump_end",
    "save",
    "seed_all",
]
