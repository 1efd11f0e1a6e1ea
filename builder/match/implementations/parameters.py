"""The parameters of one run: where each stands, and what its recorded numbers tell of its elements.

Largest, smallest, mean and norm do not depend on the order of elements: a transposed or permuted
weight has the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, prod, sqrt

from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.match.joined_records import joined_statistics
from builder.match.tree import Tree, TreeNode
from msprobe_core.format import machine_epsilon

_ROLE = "parameters."
# The sums of a float32 pass over a tensor, in another order: a few hundred units of its 2^-24.
_SUMMED = 1e-5
# More than bfloat16 left of any value of sound ports (8 %, of a gradient behind all layers).
_LIKE = 0.1


@dataclass(frozen=True, slots=True)
class Numbers:
    """Statistics of a tensor of `size` elements; `epsilon` is that of its format."""

    size: int
    largest: float
    smallest: float
    mean: float
    norm: float
    epsilon: float

    def agree(self, other: Numbers) -> bool:
        """Whether both may be of the same elements in any order, of one format or of two.

        Where the formats are two, each side has rounded an element by half its epsilon of the
        element at most, so extremes are apart by an epsilon of the largest, norms by one of the
        norm, means by one of the root mean square; on top comes what summing in another order
        leaves.
        """
        rounded = 0.0 if self.epsilon == other.epsilon else max(self.epsilon, other.epsilon)
        return self.are_within(rounded + _SUMMED, other)

    def are_like(self, other: Numbers) -> bool:
        """Whether no more than rounding behind many layers lies between the numbers of two sides.

        What is further apart differs in whatever order its elements stand.
        """
        return self.are_within(_LIKE, other)

    def apart(self, other: Numbers) -> float:
        """How far apart the numbers of two tensors of one size are, in units of their norm."""
        root = sqrt(max(self.size, 1))
        apart = abs(self.norm - other.norm) + abs(self.mean - other.mean) * root
        apart += abs(self.largest - other.largest) + abs(self.smallest - other.smallest)
        return apart / (self.norm or 1.0)

    def times(self, factor: float) -> Numbers:
        """The numbers of that many times the tensor."""
        ends = self.largest * factor, self.smallest * factor
        norm = self.norm * abs(factor)
        return Numbers(self.size, max(ends), min(ends), self.mean * factor, norm, self.epsilon)

    def are_within(self, share: float, other: Numbers) -> bool:
        """Whether no more than a share of the largest, the norm and the mean lies between them."""
        if self.size != other.size:
            return False
        peak = max(abs(self.largest), abs(self.smallest), abs(other.largest), abs(other.smallest))
        norm = max(self.norm, other.norm)
        near = share * peak
        return (
            abs(self.largest - other.largest) <= near
            and abs(self.smallest - other.smallest) <= near
            and abs(self.norm - other.norm) <= share * norm
            and abs(self.mean - other.mean) <= share * norm / sqrt(max(self.size, 1))
        )


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter by the path of its module and its name there; `index` is that of its value.

    It is `repeated` where a call reads again what another one has read, or what a backward pass or
    an optimizer works on: such values tell calls from each other, and are no weights of their own.
    """

    module: str
    name: str
    index: int
    shape: tuple[int, ...]
    numbers: Numbers
    repeated: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether it is one number throughout, which tells nothing of the model that it is of."""
        return self.numbers.largest == self.numbers.smallest

    @property
    def path(self) -> str:
        """Its full name."""
        return f"{self.module}.{self.name}" if self.module else self.name


def parameters_of(tree: Tree) -> list[Parameter]:
    """The parameters that modules of a run recorded, in the order of their first calls."""
    found: dict[str, Parameter] = {}
    for parameter in _recorded(tree):
        found.setdefault(parameter.path, parameter)
    return list(found.values())


def numbers_of(record: Record) -> Numbers | None:
    """What is known of a tensor's elements; None where it is no number, or not recorded."""
    largest, smallest, mean, norm = cells = [
        number_of(cell) for cell in (record.Max, record.Min, record.Mean, record.Norm)
    ]
    epsilon = machine_epsilon(record.dtype or "")
    if epsilon is None or record.shape is None or not all(map(isfinite, cells)):
        return None
    return Numbers(prod(record.shape), largest, smallest, mean, norm, epsilon)


def joined_numbers(parameters: Sequence[Parameter], records: Sequence[Record]) -> Numbers | None:
    """The numbers of the tensor that some parameters make up together."""
    parts = [records[each.index] for each in parameters]
    cells = joined_statistics(parts)
    largest, smallest, mean, norm = (cells[name] for name in ("Max", "Min", "Mean", "Norm"))
    if largest is None or smallest is None or mean is None or norm is None:
        return None
    size = sum(each.numbers.size for each in parameters)
    epsilon = max(each.numbers.epsilon for each in parameters)
    return Numbers(size, largest, smallest, mean, norm, epsilon)


def has_modules(tree: Tree) -> bool:
    """Whether a run recorded its modules, and not calls alone."""
    return any(node.kind == "module" for node in tree.in_order)


def _recorded(tree: Tree) -> Iterator[Parameter]:
    kept = list(_held_by_modules(tree))
    # A model may keep its weights in a dictionary of its own, and hand them to functions.
    yield from kept or _read_by_calls(tree)


def _held_by_modules(tree: Tree) -> Iterator[Parameter]:
    values = tree.dump.values
    for node in sorted(tree.in_order, key=lambda each: each.began):
        entry = node.entry
        if node.kind != "module" or entry is None or node.direction != "forward":
            continue
        for index in range(*node.values):
            key, record = values.keys[index], values.records[index]
            if key.startswith(_ROLE) and (numbers := numbers_of(record)) is not None:
                name = key.removeprefix(_ROLE)
                yield Parameter(entry.path, name, index, record.shape or (), numbers)


def _read_by_calls(tree: Tree) -> Iterator[Parameter]:
    """Where no module holds any: what calls read, no call made and a gradient is asked for.

    A run without gradients asks for none; there it is what stands behind a call's first argument.
    An optimizer reads gradients and its state so as well: of its calls it is what wants a gradient.
    """
    values, seen = tree.dump.values, set[Numbers]()
    for node in sorted(tree.in_order, key=lambda each: each.began):
        if node.kind != "api" or node.direction != "forward":
            continue
        for place, index in enumerate(range(*node.values)):
            key, record = values.keys[index], values.records[index]
            is_made = record.source is not None or record.through is not None
            may_want_none = place > 0 and not (node.top or node).after_backward
            if not key.startswith("input") or is_made:
                continue
            if not (record.requires_grad or may_want_none):
                continue
            if (numbers := numbers_of(record)) is not None and numbers.size > 1:
                repeated = node.phase != "forward" or numbers in seen
                yield Parameter(call_path(node), key, index, record.shape or (), numbers, repeated)
                if numbers.largest != numbers.smallest:  # ones and zeros are many weights
                    seen.add(numbers)


def call_path(node: TreeNode) -> str:
    """The name of a call without its direction, which stands for a module's path."""
    return node.name.rpartition(".")[0]
