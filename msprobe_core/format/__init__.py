"""The dump on disk, as both the dumper and the builder see it: names, files, records.

Standard library only, so that reading a dump never loads a framework.
"""

from msprobe_core.format.dtypes import canonical_dtype, machine_epsilon
from msprobe_core.format.layout import (
    CONSTRUCT_FILE,
    DUMP_FILE,
    ERROR_LOG,
    STACK_FILE,
    TENSOR_DIR,
    RankDir,
    parse_rank_dir,
    parse_step_dir,
)
from msprobe_core.format.names import (
    API_PREFIXES,
    EntryName,
    NameSyntaxError,
    api_entry,
    module_entry,
    parameters_grad_entry,
    parse_entry,
)
from msprobe_core.format.records import Direction, Level, SummaryMode, Task

__all__ = [
    "API_PREFIXES",
    "CONSTRUCT_FILE",
    "DUMP_FILE",
    "ERROR_LOG",
    "STACK_FILE",
    "TENSOR_DIR",
    "Direction",
    "EntryName",
    "Level",
    "NameSyntaxError",
    "RankDir",
    "SummaryMode",
    "Task",
    "api_entry",
    "canonical_dtype",
    "machine_epsilon",
    "module_entry",
    "parameters_grad_entry",
    "parse_entry",
    "parse_rank_dir",
    "parse_step_dir",
]
