"""The frameworks whose dumps are read: what each calls the same things, one file a framework.

Another package registers its own by an entry point of the group `msprobe.frameworks` that names a
`FrameworkDescription`.
"""

from msprobe_core.format.frameworks.description import Default, FrameworkDescription, Words
from msprobe_core.format.frameworks.mindspore_names import MINDSPORE
from msprobe_core.format.frameworks.pytorch_names import PYTORCH
from msprobe_core.format.frameworks.registry import (
    COMMUNICATION,
    DTYPE_TYPES,
    GROUP,
    MODULE_PREFIXES,
    PACKAGES,
    TENSOR_TYPES,
    FrameworkError,
    framework_called,
    framework_named,
    framework_of_static_graphs,
    framework_of_tensors,
    frameworks,
    register,
    translated_frameworks,
)

register(PYTORCH)
register(MINDSPORE)

__all__ = [
    "COMMUNICATION",
    "DTYPE_TYPES",
    "GROUP",
    "MINDSPORE",
    "MODULE_PREFIXES",
    "PACKAGES",
    "PYTORCH",
    "TENSOR_TYPES",
    "Default",
    "FrameworkDescription",
    "FrameworkError",
    "Words",
    "framework_called",
    "framework_named",
    "framework_of_static_graphs",
    "framework_of_tensors",
    "frameworks",
    "register",
    "translated_frameworks",
]
