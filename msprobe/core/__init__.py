"""Names under which users of mindstudio-probe import the checks: `from msprobe.core import …`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msprobe.single_save import SingleComparator, SingleSave

__all__ = ["SingleComparator", "SingleSave"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from msprobe import single_save

    return getattr(single_save, name)
