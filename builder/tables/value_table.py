"""A compared pair as rows of the table: a projection, nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.compare.comparison import Comparison
from builder.compare.statistics import element_count
from builder.dump.reader import Dump, read_stacks
from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode
from builder.match.value_pairing import SURPLUS, value_name
from builder.reasons import MeasureTaken
from builder.tables.cells import (
    NO_PARTNER,
    UNSUPPORTED,
    Cell,
    checksum_cell,
    difference_cells,
    dtype_cell,
    gradient_cell,
    holds_zeros,
    shape_cell,
    statistics_cells,
    tensor_cells,
)
from builder.tables.row_order import NULL, Call, Place, calls_in_order
from builder.tables.row_verdicts import RowVerdicts
from builder.tables.table_columns import header
from builder.work.pair import PairResult
from msprobe_core.format import STACK_FILE

_NULL_STATISTICS: tuple[Cell, ...] = ("None",) * 4
_NO_STATISTICS: tuple[Cell, ...] = (NO_PARTNER,) * 4
_EQUAL: tuple[Cell, ...] = ("0",) * 8
_NO_DIFFERENCES: tuple[Cell, ...] = (NO_PARTNER,) * 8
_NO_MEASURES: tuple[Cell, ...] = (UNSUPPORTED,) * 6
_OTHER_SHAPE: tuple[Cell, ...] = ("shape unmatched",) * 6
_NO_FILE = "-1"
_DIGITS = 4  # of a score


@dataclass(frozen=True, slots=True)
class _Form:
    """The cells that depend on a value's form alone: dtype, shape, requires_grad."""

    dtype: str
    shape: str
    gradient: str


_ABSENT = _Form(NO_PARTNER, NO_PARTNER, NO_PARTNER)


class ValueTable:
    """The rows of one compared pair; `measures` are the columns that extensions add."""

    def __init__(self, result: PairResult, threshold: float, measures: Sequence[str] = ()) -> None:
        comparison = result.pair.comparison
        assert comparison is not None
        self._comparison: Comparison = comparison
        self._verdicts = RowVerdicts(result, threshold)
        self._measures = tuple(measures)
        self._measured = _extension_measures(result) if measures else {}
        trees = comparison.matching.problem, comparison.matching.benchmark
        self._dumps: tuple[Dump, Dump] = (trees[0].dump, trees[1].dump)
        self._forms = (_forms_of(self._dumps[0]), _forms_of(self._dumps[1]))
        self._stacks: Mapping[str, list[str]] | None = None
        if (self._dumps[0].path / STACK_FILE).exists():
            self._stacks = read_stacks(self._dumps[0].path / STACK_FILE)
        # Values that a data mapping pairs may belong to another call than their partner.
        mapped = set(comparison.matching.values.values())
        self._foreign = {i: name for name, i in _named(trees[1], mapped)} if mapped else {}
        self._stack_texts: dict[int, str] = {}
        self.header = header(comparison.mode, self._measures, stack=self._stacks is not None)

    def calls(self) -> Iterator[tuple[Call, list[list[Cell]]]]:
        """The calls in order, each with its rows."""
        for call in calls_in_order(self._comparison):
            yield call, list(self._rows_of(call))

    def rows(self) -> Iterator[list[Cell]]:
        """All rows in order."""
        for call in calls_in_order(self._comparison):
            yield from self._rows_of(call)

    def stack(self, node: TreeNode | None) -> list[str]:
        """The frames of a call of the problem, the innermost first; none where none are known."""
        return (self._stacks or {}).get(node.name, []) if node is not None else []

    def _rows_of(self, call: Call) -> Iterator[list[Cell]]:
        findings = self._verdicts.named(call)
        for number, place in enumerate(call.places):
            ours, theirs = self._side(0, place.problem), self._side(1, place.benchmark)
            said = self._verdicts.verdict(call, place, findings)
            last: list[Cell] = [said.result, said.messages]
            if self._stacks is not None:
                last.append(self._stack_cell(call.problem) if number == 0 else NO_PARTNER)
            if self._comparison.mode == "tensor":
                last.append(str([self._file(0, place.problem), self._file(1, place.benchmark)]))
            yield [
                _name_cell(call.problem, place.key, place.problem),
                self._benchmark_name(call, place),
                ours.dtype,
                theirs.dtype,
                ours.shape,
                theirs.shape,
                ours.gradient,
                theirs.gradient,
                *self._values(call, place),
                ours.gradient == theirs.gradient,
                *last,
                "" if said.score is None else round(said.score, _DIGITS),
                "" if said.introduced is None else round(said.introduced, _DIGITS),
                said.reason,
            ]

    def _benchmark_name(self, call: Call, place: Place) -> str:
        foreign = self._foreign.get(place.benchmark)
        return foreign or _name_cell(call.benchmark, place.key, place.benchmark)

    def _side(self, side: int, index: int) -> _Form:
        return self._forms[side][index] if index >= 0 else _ABSENT

    def _record(self, side: int, index: int) -> Record | None:
        return self._dumps[side].values.records[index] if index >= 0 else None

    def _values(self, call: Call, place: Place) -> list[Cell]:
        ours, theirs = self._record(0, place.problem), self._record(1, place.benchmark)
        own = self._extension_cells(call, place)
        if self._comparison.mode == "md5":
            return [
                checksum_cell(side) if side is not None else NO_PARTNER for side in (ours, theirs)
            ] + own
        p, b = _statistics(ours, place.problem), _statistics(theirs, place.benchmark)
        if self._comparison.mode == "tensor":
            return [*self._tensor_cells(place, ours, theirs), *own, *p, *b]
        differences: Sequence[Cell]
        if SURPLUS in (place.problem, place.benchmark):
            differences = _NO_DIFFERENCES
        elif p == b and [type(cell) for cell in p] == [type(cell) for cell in b]:
            differences = _EQUAL
        else:
            differences = difference_cells(p, b)
        return [*differences, *own, *p, *b]

    def _tensor_cells(
        self, place: Place, ours: Record | None, theirs: Record | None
    ) -> Sequence[Cell]:
        if ours is None or theirs is None or ours.dtype is None or theirs.dtype is None:
            return _NO_MEASURES
        if ours.shape != theirs.shape:
            return _OTHER_SHAPE
        measures = (
            self._comparison.elements.tensors.get(place.row) if place.row is not None else None
        )
        if measures is None:
            return _NO_MEASURES
        zero = holds_zeros(ours) != holds_zeros(theirs)
        return tensor_cells(measures, element_count(ours.shape), one_is_zero=zero)

    def _extension_cells(self, call: Call, place: Place) -> list[Cell]:
        if not self._measures:
            return []
        order = call.problem.exec_order if call.problem is not None else -1
        cells = self._measured.get((order, place.key), {})
        return [cells.get(name, UNSUPPORTED) for name in self._measures]

    def _stack_cell(self, node: TreeNode | None) -> str:
        frames = self.stack(node)
        if not frames:
            return NO_PARTNER
        # Calls from the same place share their frames.
        text = self._stack_texts.get(id(frames))
        if text is None:
            text = self._stack_texts[id(frames)] = str(frames)
        return text

    def _file(self, side: int, index: int) -> str:
        if index == SURPLUS:
            return NO_PARTNER
        record = self._record(side, index)
        return record.data_name if record is not None and record.data_name else _NO_FILE


def _named(tree: Tree, names: set[str]) -> Iterator[tuple[str, int]]:
    for node in tree.in_order:
        for index in range(*node.values):
            name = value_name(node, tree.dump.values.keys[index])
            if name in names:
                yield name, index


def _name_cell(node: TreeNode | None, key: str, index: int) -> str:
    if node is None or index == SURPLUS:
        return NO_PARTNER
    return value_name(node, key)


def _forms_of(dump: Dump) -> list[_Form]:
    known: dict[tuple[object, ...], _Form] = {}
    forms = []
    for record, place in zip(dump.values.records, dump.values.keys):
        if record.dtype is None:
            forms.append(_form(record, place))
            continue
        key = (record.dtype, record.shape, record.requires_grad)
        form = known.get(key)
        if form is None:
            form = known[key] = _form(record)
        forms.append(form)
    return forms


def _form(record: Record, place: str = "") -> _Form:
    return _Form(dtype_cell(record, place), shape_cell(record), gradient_cell(record))


def _statistics(record: Record | None, index: int) -> tuple[Cell, ...]:
    if record is None:
        return _NULL_STATISTICS if index == NULL else _NO_STATISTICS
    return statistics_cells(record)


def _extension_measures(result: PairResult) -> dict[tuple[int, str], dict[str, Cell]]:
    measures: dict[tuple[int, str], dict[str, Cell]] = {}
    for order, judgement in result.judgements.items():
        for reason in judgement.reasons:
            if isinstance(reason, MeasureTaken):
                cells = measures.setdefault((order, reason.value), {})
                cells[reason.name] = reason.number if reason.number is not None else UNSUPPORTED
    return measures
