"""Where else MindSpore's functions stand: in modules that have imported them by name."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from types import ModuleType

_FRAMEWORK = ("mindspore", "msprobe", "msprobe_core")
_INSTALLED = tuple(
    {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
)


class ImportedNames:
    """Finds names of functions in all modules but MindSpore's own.

    There are some 80,000 names in 2,000 modules, so that modules that are installed are looked at
    again only where they have other names than before. `_without` holds the identity of such a
    module and how many names it had.
    """

    def __init__(self) -> None:
        self._wanted: frozenset[int] = frozenset()
        self._without: dict[str, tuple[int, int]] = {}

    def of(self, functions: Mapping[int, object]) -> list[tuple[ModuleType, str]]:
        """The modules and names under which functions stand, which are given by their identity."""
        if functions.keys() != self._wanted:
            self._wanted = frozenset(functions)
            self._without.clear()
        found: list[tuple[ModuleType, str]] = []
        for name, module in list(sys.modules.items()):
            # Anything may stand there: some packages put objects in their places.
            if isinstance(module, ModuleType) and not self._is_without(name, module):
                found += self._looked_at(name, module)
        return found

    def _is_without(self, name: str, module: ModuleType) -> bool:
        return self._without.get(name) == (id(module), len(vars(module)))

    def _looked_at(self, name: str, module: ModuleType) -> list[tuple[ModuleType, str]]:
        members = vars(module).copy()
        is_framework = name.partition(".")[0] in _FRAMEWORK
        if is_framework or self._wanted.isdisjoint(map(id, members.values())):
            if is_framework or str(getattr(module, "__file__", None)).startswith(_INSTALLED):
                self._without[name] = id(module), len(members)
            return []
        return [(module, key) for key, value in members.items() if id(value) in self._wanted]


IMPORTED = ImportedNames()
"""Those of the process."""
