"""Leaves out of a comparison of two frameworks what each has for itself.

What runs inside a layer is how its framework computes it: `Dense` reshapes and multiplies where
`Linear` calls one function. Such a layer is compared as a whole, by what it reads, holds and puts
out. The optimizer of one framework has no call in common with that of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from builder.dump.reader import Dump
from builder.match.frameworks.layers import LAYERS
from builder.match.frameworks.leaving_out import without_entries
from builder.match.frameworks.shapes import give_torch_shapes
from builder.match.frameworks.words import in_torch_words, words_of
from msprobe_core.format import EntryName, NameSyntaxError, parse_entry
from msprobe_core.format.frameworks import Words

OPTIMIZER = "optimizer"
# These have modules of their own inside, other ones in either framework.
_OF_PARTS = frozenset(("RNN", "LSTM", "GRU", "MultiheadAttention"))


def comparable_parts(problem: Dump, benchmark: Dump) -> tuple[Dump, Dump]:
    """Both dumps without what runs inside layers, and without the optimizer."""
    ours, theirs = words_of(problem), words_of(benchmark)
    # A port may keep the names of the framework that it came from.
    sides = (
        _Side.of(problem, ours or theirs or Words()),
        _Side.of(benchmark, theirs or ours or Words()),
    )
    layers = _layer_paths(*sides)
    return sides[0].without(layers), sides[1].without(layers)


@dataclass(frozen=True, slots=True)
class _Side:
    dump: Dump
    entries: Mapping[str, EntryName]

    @classmethod
    def of(cls, dump: Dump, words: Words) -> _Side:
        return cls(dump, dict(_parsed({**dump.parents, **dump.ranges}, words)))

    def modules(self) -> dict[str, str]:
        """The class of each module that ran, in PyTorch's words, by its path."""
        modules = (entry for entry in self.entries.values() if entry.kind == "module")
        return {entry.path: entry.type_name for entry in modules}

    def without(self, layers: frozenset[str]) -> Dump:
        """The dump without all that runs inside these modules, and without the optimizer."""
        dump = self.dump
        inside: dict[str, bool] = {}
        for name in {**dump.parents, **dump.ranges}:
            self._is_inside(name, layers, inside)
        # The parents of backward calls are not always known; those of their forward calls are.
        gone = {name for name, is_gone in inside.items() if is_gone}
        gone |= {name for name, entry in self.entries.items() if _forward(name, entry) in gone}
        left = without_entries(dump, gone)
        give_torch_shapes(left, self.entries)
        return replace(left, optimizer={})

    def _is_inside(self, name: str, layers: frozenset[str], known: dict[str, bool]) -> bool:
        """Whether an entry runs in one of the layers or in the optimizer."""
        trail: list[str] = []
        current: str | None = name
        while current is not None and current not in known and current not in trail:
            trail.append(current)
            current = self.dump.parents.get(current)
        is_gone = known.get(current, False) if current is not None else False
        for each in reversed(trail):
            above = self.dump.parents.get(each)
            is_gone = is_gone or self._ends_at(above, layers) or self._is_alone(each, layers)
            known[each] = is_gone
        return known[name]

    def _ends_at(self, above: str | None, layers: frozenset[str]) -> bool:
        entry = self.entries.get(above) if above is not None else None
        return entry is not None and entry.kind == "module" and entry.path in layers

    def _is_alone(self, name: str, layers: frozenset[str]) -> bool:
        """Whether an entry is itself the optimizer, or a module below a layer's path."""
        entry = self.entries.get(name)
        if entry is None:
            return name == OPTIMIZER
        above = entry.path
        while entry.kind != "api" and "." in above:
            above = above.rpartition(".")[0]
            if above in layers:
                return True
        return entry.prefix == "Optimizer"


def _parsed(names: Iterable[str], words: Words) -> Iterable[tuple[str, EntryName]]:
    for name in names:
        try:
            yield name, in_torch_words(parse_entry(name), words)
        except NameSyntaxError:
            continue


def _forward(name: str, entry: EntryName) -> str:
    """The forward call of a backward one, by its recorded name."""
    if entry.kind != "api" or entry.direction != "backward":
        return ""
    return f"{name.removesuffix('backward')}forward"


def _layer_paths(ours: _Side, theirs: _Side) -> frozenset[str]:
    """The modules that one computation stands for: layers of either framework.

    Modules inside on both sides say that a class is a user's own of a layer's name.
    """
    modules = ours.modules(), theirs.modules()
    parts = [_with_parts(side) for side in modules]
    found = set()
    for own, other in ((0, 1), (1, 0)):
        for path, kind in modules[own].items():
            whole = path not in parts[own] or path in modules[other].keys() - parts[other]
            if kind in LAYERS and (kind in _OF_PARTS or whole):
                found.add(path)
    return frozenset(found)


def _with_parts(modules: Mapping[str, str]) -> set[str]:
    """The paths of modules that have other modules inside."""
    return {path.rpartition(".")[0] for path in modules}
