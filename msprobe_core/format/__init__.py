"""The dump on disk, as both the dumper and the builder see it: names, files, dtypes.

Standard library only, so that reading a dump never loads a framework.
"""

from msprobe_core.format.dtypes import (
    canonical_dtype,
    is_half_format,
    is_integer_dtype,
    machine_epsilon,
    roundings,
    spacing_near_zero,
)
from msprobe_core.format.frameworks import COMMUNICATION, MODULE_PREFIXES, framework_named
from msprobe_core.format.groups import group_id
from msprobe_core.format.layout import (
    CONSTRUCT_FILE,
    DEBUG_FILE,
    DUMP_FILE,
    ERROR_LOG,
    FLOW_FILE,
    STACK_FILE,
    TENSOR_DIR,
    RankDir,
    parse_rank_dir,
    parse_step_dir,
    values_file,
)
from msprobe_core.format.names import (
    Direction,
    EntryName,
    NameSyntaxError,
    api_entry,
    module_entry,
    nth_pass,
    of_any_pass,
    parameters_grad_entry,
    parse_entry,
    saved_entry,
    saved_gradient_entry,
)
from msprobe_core.format.sketch_definition import (
    LARGEST,
    PROJECTIONS,
    ROW_NUMBERS,
    ROW_PROJECTIONS,
    SKETCH_VERSION,
)

__all__ = [
    "COMMUNICATION",
    "CONSTRUCT_FILE",
    "DEBUG_FILE",
    "DUMP_FILE",
    "ERROR_LOG",
    "FLOW_FILE",
    "LARGEST",
    "MODULE_PREFIXES",
    "PROJECTIONS",
    "ROW_NUMBERS",
    "ROW_PROJECTIONS",
    "SKETCH_VERSION",
    "STACK_FILE",
    "TENSOR_DIR",
    "Direction",
    "EntryName",
    "NameSyntaxError",
    "RankDir",
    "api_entry",
    "canonical_dtype",
    "framework_named",
    "group_id",
    "is_half_format",
    "is_integer_dtype",
    "machine_epsilon",
    "module_entry",
    "nth_pass",
    "of_any_pass",
    "parameters_grad_entry",
    "parse_entry",
    "parse_rank_dir",
    "parse_step_dir",
    "roundings",
    "saved_entry",
    "saved_gradient_entry",
    "spacing_near_zero",
    "values_file",
]
