"""Compares two dumps into tables: what `msprobe compare` and its Python form do.

One pair is one table, written by the process that compares it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from builder.claim import Claim, Counted
from builder.dump.matrices import read_matrices
from builder.errors import BuilderError, InputError
from builder.judge.extensions import load_extensions
from builder.match.manual_file import MappedPair
from builder.match.nodes import MatchRules
from builder.match.rollout_mapping import Backend
from builder.match.tree import Tree, TreeNode
from builder.reasons import Reason
from builder.run.executor import LocalProcesses
from builder.run.order import link_ranks, order_findings
from builder.tables.cells import NO_PARTNER, Cell
from builder.tables.first_difference import write_calls, write_first_differences
from builder.tables.pairing import Place, plan_tables
from builder.tables.sheets import check_folder, write_csv, write_xlsx
from builder.tables.table_columns import MESSAGES, OWN, RESULT, SCORES, own_places
from builder.tables.value_table import ValueTable
from builder.work.mapping_rules import check_rules, match_rules
from builder.work.options import BuildOptions
from builder.work.outcome import PairOutcome, StoredFinding, claim_on, whole_evidence
from builder.work.pair import Instructions, PairResult, work_on
from builder.work.plan import Missing, PairPlan
from builder.work.summary import outcome_of

SheetForm = Literal["csv", "xlsx"]
Progress = Callable[[int, int, PairOutcome], None]
Log = Callable[[str], None]
_NODES_OF_A_GRAPH = 1 << 32


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How tables are made; `first_differences` writes JSON in their place.

    `log` is told what is compared, two lines a value, of tensor dumps; `suffix` stands in the
    tables' names before the time. `backend` is that of a
    training run that is compared with an inference run of the same model; `matrices` names a file
    of matrices that tensors are multiplied with first.
    """

    form: SheetForm = "csv"
    first_differences: bool = False
    log: Log | None = None
    suffix: str = ""
    backend: Backend | None = None
    matrices: Path | None = None
    build: BuildOptions = field(default_factory=BuildOptions)


@dataclass(frozen=True, slots=True)
class TablesResult:
    """The files, what became of each pair, and where the problem run begins to differ.

    `helpers` are folders of processes beside the ranks, which nobody asked to compare.
    """

    files: tuple[Path, ...]
    outcomes: tuple[TabledPair, ...]
    missing: tuple[Missing, ...]
    findings: tuple[StoredFinding, ...]
    notes: tuple[Reason, ...] = ()
    helpers: tuple[Path, ...] = ()

    @property
    def claim(self) -> Claim:
        """What may be said of the two runs: a row that is rated error is a difference."""
        missing = [(gone.step, gone.rank) for gone in self.missing]
        evidence = whole_evidence(self.outcomes, missing)
        if self.helpers:
            beside = Counted("helpers", len(self.helpers), str(self.helpers[0]))
            evidence = evidence.with_gaps(beside)
        rated = [rows for o in self.outcomes if (rows := o.rated) is not None and rows.count]
        if rated and all(each.code != "rated" for each in evidence.differences):
            count = sum(rows.count for rows in rated)
            evidence = evidence.with_differences(Counted("rated_rows", count, rated[0].name))
        return claim_on(self.findings, evidence)

    @property
    def failed(self) -> tuple[PairOutcome, ...]:
        """The pairs that have an error instead of a table."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)

    @property
    def compared_values(self) -> int:
        """How many values were compared over all pairs."""
        return sum(outcome.compared for outcome in self.outcomes)


@dataclass(slots=True)
class RatedRows:
    """How many rows of a table are rated error, the name of the first and what it says of it.

    It counts while the table is written.
    """

    header: Sequence[str]
    count: int = 0
    name: str = ""
    messages: str = ""

    def counted(self, rows: Iterator[list[Cell]]) -> Iterator[list[Cell]]:
        """The rows as they are."""
        result = self.header.index(RESULT)
        for row in rows:
            if row[result] == "error":
                self.count += 1
                if self.count == 1:
                    self.name = str(row[row[0] == NO_PARTNER])
                    self.messages = str(row[self.header.index(MESSAGES)])
            yield row


@dataclass(frozen=True, slots=True)
class TabledPair(PairOutcome):
    """The outcome of a pair with its files, and what could not be done as the user wanted."""

    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    rated: RatedRows | None = None


def compare_into_tables(
    problem: Path,
    benchmark: Path,
    output: Path,
    options: TableOptions | None = None,
    progress: Progress | None = None,
) -> TablesResult:
    """Compare two dumps, ranks, steps or files and write a table for each pair.

    Raises InputError when they cannot be used and OutputError when nothing can be written; a pair
    that fails on its own is an outcome of the result.
    """
    options = options or TableOptions()
    check_folder(output)
    plan = plan_tables(problem, benchmark)
    if options.first_differences and plan.of_files:
        raise InputError(
            f"{problem}: -da looks at all ranks together",
            "give the folders of two steps, or of two whole dumps",
        )
    rules = match_rules(options.build, comparison=True)
    instructions = replace(
        _instructions(options.build, rules),
        backend=options.backend,
        matrices=read_matrices(options.matrices) if options.matrices is not None else None,
    )
    named = {
        place: name.with_name(name.name + options.suffix) for place, name in plan.names.items()
    }
    stems = _stems(output, named)
    done = 0

    def report(outcome: PairOutcome) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(plan.pairs) + len(plan.broken), outcome)

    lost = [TabledPair(b.pair.step, b.pair.rank, error=b.error) for b in plan.broken]
    for outcome in lost:
        report(outcome)
    work = TabledPairs(stems, instructions, options)
    outcomes = lost + LocalProcesses(options.build.workers).run(plan.pairs, work, report)
    try:
        check_rules(rules, options.build, outcomes)
    except BuilderError:
        # Tables made by rules that fit nothing are not what was asked for.
        for file in (file for outcome in outcomes for file in outcome.files):
            file.unlink(missing_ok=True)
        raise
    links, discords = link_ranks(outcomes)
    findings = order_findings(outcomes, discords, links)
    files = [file for outcome in outcomes for file in outcome.files]
    if options.first_differences and findings:
        calls = {(o.step, o.rank): o.files[0] for o in outcomes if o.files}
        stem = output / f"diff_analyze_{time.time_ns()}"
        files.append(write_first_differences(stem, findings, calls))
    return TablesResult(
        tuple(files), tuple(outcomes), plan.missing, tuple(findings), plan.notes, plan.helpers
    )


@dataclass(frozen=True, slots=True)
class TabledPairs:
    """Compares pairs and writes their tables; travels to the process that does it."""

    stems: dict[Place, Path]
    instructions: Instructions
    options: TableOptions
    _numbers: dict[Place, int] = field(init=False)

    def __post_init__(self) -> None:
        numbers = {place: 2 * at for at, place in enumerate(self.stems)}
        object.__setattr__(self, "_numbers", numbers)

    def attempt(self, plan: PairPlan, cores: int) -> TabledPair:
        """Compare a pair and write its table; what goes wrong is an outcome too."""
        try:
            return self._attempt(plan, cores)
        except BuilderError as error:
            text = str(error)
        except Exception as error:  # one pair's defect must not take the others' tables with it
            text = f"{plan.problem}: {type(error).__name__}: {error}; please report this"
        return TabledPair(plan.step, plan.rank, error=text)

    def lost(self, plan: PairPlan, cause: str) -> TabledPair:
        """The outcome of a pair whose process ended without one."""
        return TabledPair(plan.step, plan.rank, error=f"{plan.problem}: worker {cause}")

    def _attempt(self, plan: PairPlan, cores: int) -> TabledPair:
        instructions = replace(self.instructions, cores=cores)
        result = work_on(plan, instructions, lambda _: None)
        table = self._table(result)
        rated = RatedRows(table.header)
        files = tuple(self._write(plan, table, rated))
        benchmark = result.pair.benchmark
        assert benchmark is not None
        number = self._numbers[plan.step, plan.rank]
        sides = _Side(result.pair.problem, number), _Side(benchmark, number + 1)
        outcome = outcome_of(result, *sides, instructions)
        told = {name: getattr(outcome, name) for name in _FIELDS}
        return TabledPair(**told, files=files, notes=result.pair.notes, rated=rated)

    def _table(self, result: PairResult) -> ValueTable:
        names = [name for extension in self.instructions.extensions for name in extension.measures]
        return ValueTable(result, self.options.build.threshold, names)

    def _write(self, plan: PairPlan, table: ValueTable, rated: RatedRows) -> Sequence[Path]:
        stem = self.stems[plan.step, plan.rank]
        if self.options.first_differences:
            return [write_calls(stem, table)]
        rows = iter(table.rows())
        first = next(rows, None)
        if first is None:
            return []
        listed = rated.counted(self._logged(table, first, rows))
        if self.options.form == "xlsx":
            # The first sheet is mindstudio-probe's own, whose tools take no column more.
            theirs, ours = len(table.header) - len(OWN), own_places(table.header)
            sheets = {
                "Sheet1": (table.header[:theirs], (row[:theirs] for row in listed)),
                SCORES: (
                    [table.header[place] for place in ours],
                    ([row[place] for place in ours] for row in table.rows()),
                ),
            }
            return [write_xlsx(stem, sheets)]
        return write_csv(stem, table.header, listed)

    def _logged(
        self, table: ValueTable, first: list[Cell], rows: Iterator[list[Cell]]
    ) -> Iterator[list[Cell]]:
        log = self.options.log if "Cosine" in table.header else None
        yield first
        if log is None:
            yield from rows
            return
        _tell(log, table.header, first)
        for row in rows:
            _tell(log, table.header, row)
            yield row


@dataclass(frozen=True, slots=True)
class _Side:
    tree: Tree
    graph: int

    def id_of(self, node: TreeNode) -> int:
        """A number that no node of another step or rank has."""
        return self.graph * _NODES_OF_A_GRAPH + node.exec_order


_FIELDS = tuple(PairOutcome.__dataclass_fields__)


def _tell(log: Log, header: Sequence[str], row: Sequence[Cell]) -> None:
    cells = dict(zip(header, row))
    log(f"compare {cells['NPU Name']} with {cells['Bench Name']}")
    measures = ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr")
    log(", ".join(f"{name} {cells[name]}" for name in measures))


def _stems(output: Path, names: dict[Place, Path]) -> dict[Place, Path]:
    """The path of each table without its ending, at a time that no earlier table has."""
    moment = datetime.now()  # noqa: DTZ005 - users' files carry the local time
    while True:
        stems = {
            place: output / name.with_name(f"{name.name}_{moment:%Y%m%d%H%M%S}")
            for place, name in names.items()
        }
        if not any(_taken(stem) for stem in stems.values()):
            return stems
        moment += timedelta(seconds=1)


def _taken(stem: Path) -> bool:
    return any(stem.parent.glob(f"{stem.name}*"))


def _instructions(build: BuildOptions, rules: MatchRules) -> Instructions:
    """A table has what pairs by name, also of two programs of one model."""
    return Instructions(replace(build, same="program"), rules, load_extensions())


def write_pair_table(
    folders: tuple[Path, Path],
    output: Path,
    form: SheetForm,
    build: BuildOptions,
    pairs: Sequence[MappedPair] = (),
) -> Path:
    """Compare two rank folders in this very process and write their table into `output`.

    `pairs` are nodes that are known to belong together. Raises InputError when the folders
    cannot be compared, or hold nothing to compare.
    """
    rules = replace(match_rules(build, comparison=True), manual=pairs)
    instructions = _instructions(build, rules)
    stems = {(0, 0): output / "compare_result"}
    work = TabledPairs(stems, instructions, TableOptions(form, build=build))
    outcome = work.attempt(PairPlan(0, 0, *folders), 1)
    if outcome.error is not None:
        raise InputError(outcome.error, "compare again where the dumps are")
    if not outcome.files:
        raise InputError(f"{folders[0]}: holds no values", "record with task statistics or tensor")
    return outcome.files[0]
