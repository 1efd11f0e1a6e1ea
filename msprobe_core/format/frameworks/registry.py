"""The registered frameworks, by name; those of other packages are looked for when one is unknown.

The sets below hold what all of them have of a kind, for code that asks once a name or a value.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache

from msprobe_core.format.frameworks.description import FrameworkDescription
from msprobe_core.format.mendable_error import MendableError

GROUP = "msprobe.frameworks"

_module_prefixes: set[str] = set()
_communication: set[str] = set()
_tensor_types: set[str] = set()
_dtype_types: set[str] = set()
_packages: set[str] = set()
_registered: dict[str, FrameworkDescription] = {}

MODULE_PREFIXES: AbstractSet[str] = _module_prefixes
"""The prefixes of modules' entries."""
COMMUNICATION: AbstractSet[str] = _communication
"""The prefixes of calls that talk to other ranks."""
TENSOR_TYPES: AbstractSet[str] = _tensor_types
"""The types that dumps give their tensors."""
DTYPE_TYPES: AbstractSet[str] = _dtype_types
"""The types that dumps give arguments that are formats."""
PACKAGES: AbstractSet[str] = _packages
"""What the frameworks are imported by."""


class FrameworkError(MendableError):
    """An installed description of a framework that cannot be used."""


def register(framework: FrameworkDescription) -> None:
    """Read dumps of this framework; again, in place of the one of its name."""
    _registered[framework.name] = framework
    _module_prefixes.update(framework.module_prefixes)
    _communication.update(framework.communication)
    _packages.update(framework.packages)
    _tensor_types.update(filter(None, [framework.tensor_type]))
    _dtype_types.update(filter(None, [framework.dtype_type]))


def frameworks() -> tuple[FrameworkDescription, ...]:
    """All that are registered, in the order of their registration."""
    return tuple(_registered.values())


def framework_named(name: str) -> FrameworkDescription:
    """The framework that a dump names; one that nobody has described has a name and no words.

    Raises FrameworkError for an installed description that cannot be used.
    """
    if name not in _registered:
        _register_installed()
    known = _registered.get(name)
    return FrameworkDescription(name, name, name) if known is None else known


def framework_called(name: object) -> FrameworkDescription | None:
    """The framework of that name or short name; None where nobody has described it.

    Raises FrameworkError for an installed description that cannot be used.
    """
    found = _called(name)
    if found is None:
        _register_installed()
    return found or _called(name)


def _called(name: object) -> FrameworkDescription | None:
    return next((each for each in frameworks() if name in (each.name, each.short)), None)


def framework_of_tensors(kind: object) -> FrameworkDescription | None:
    """The registered framework that gives its tensors this type."""
    if kind not in TENSOR_TYPES:
        return None
    return next(each for each in frameworks() if each.tensor_type == kind)


def framework_of_static_graphs() -> FrameworkDescription:
    """The first framework that dumps the kernels of its static graphs itself."""
    return next(each for each in frameworks() if each.dumps_static_graphs)


def translated_frameworks() -> tuple[FrameworkDescription, ...]:
    """Those whose names are said in PyTorch's words."""
    return tuple(each for each in frameworks() if each.words is not None)


@cache
def _register_installed() -> None:
    # Loading this module takes longer than reading a small dump, and most need no other framework.
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            described = point.load()
        except Exception as error:  # whatever the foreign module raises while it is imported
            raise FrameworkError(
                f"{point.value}: entry point {point.name!r} of {GROUP} cannot be loaded "
                f"({type(error).__name__}: {error})",
                "repair or uninstall its package",
            ) from error
        if not isinstance(described, FrameworkDescription):
            raise FrameworkError(
                f"{point.value}: entry point {point.name!r} of {GROUP} is a "
                f"{type(described).__name__}",
                "make it a msprobe_core.format.frameworks.FrameworkDescription",
            )
        register(described)
