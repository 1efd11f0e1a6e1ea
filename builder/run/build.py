"""Builds a result database from dumps: the builder's front door."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from builder.claim import Claim, Evidence
from builder.diagnosis.communication import Link
from builder.dump.sources import find_sources
from builder.errors import InputError, OutputError
from builder.finding_certainty import certainty_of
from builder.judge.acc_check import Checks, read_checks
from builder.judge.extensions import load_extensions
from builder.match.nodes import MatchRules
from builder.reasons import NothingComparable, OnlyIn, PrecisionSetting, Reason, encode
from builder.run.executor import LocalProcesses, Watch
from builder.run.one_fault import one_a_fault
from builder.run.order import link_ranks, order_findings
from builder.run.pair_work import StoredPairs
from builder.run.rank_conflicts import rank_conflicts
from builder.run.reaches import load_readers, with_reaches
from builder.work.mapping_rules import check_rules, manual_pairs, match_rules
from builder.work.merge_coverage import merged_summary, merged_values
from builder.work.merge_plan import plan_comparison
from builder.work.options import BuildOptions
from builder.work.outcome import (
    PairOutcome,
    StoredFinding,
    claim_on,
    decided_ties,
    ends_facts,
    evidence_of,
    kind_facts,
    notes_on,
    rated_errors,
    whole_evidence,
)
from builder.work.pair import Instructions
from builder.work.phases import Phase, PhaseEntered
from builder.work.plan import PairPlan, Plan, plan_single
from builder.write.pair_store import store_failure, store_missing
from builder.write.result_writer import Database, insert_rows, write_meta
from builder.write.tables import COMMUNICATION, FINDING, SCHEMA_VERSION

Progress = Callable[[int, int, PairOutcome], None]
Phases = Callable[[PhaseEntered], None]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build made: the file, what became of each pair, and the findings in order.

    `evidence` is what may be claimed on: what was compared over all pairs, and what was not.
    """

    path: Path
    mode: str
    outcomes: tuple[PairOutcome, ...]
    missing: int
    findings: tuple[StoredFinding, ...]
    summary: tuple[Reason, ...]
    evidence: Evidence
    comparison: bool

    @property
    def claim(self) -> Claim:
        """What may be said of the two runs."""
        return claim_on(self.findings, self.evidence)

    @property
    def failed(self) -> tuple[PairOutcome, ...]:
        """The pairs that have an error instead of graphs."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)

    @property
    def values(self) -> dict[str, int]:
        """Of merged ranks: values compared, of these by bounds or assumed, and set aside."""
        total = sum((Counter(outcome.values) for outcome in self.outcomes), Counter[str]())
        aside = sum(sum(outcome.set_aside.values()) for outcome in self.outcomes)
        return {**total, "set_aside": aside} if total else {}

    @property
    def compared_values(self) -> int:
        """How many values were compared over all pairs."""
        return sum(outcome.compared for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class Request:
    """What a build is asked for: two dumps as they were given, or one, and how to compare them."""

    problem: str
    benchmark: str | None
    options: BuildOptions

    @property
    def is_comparison(self) -> bool:
        """Whether there are two dumps."""
        return self.benchmark is not None

    def plan(self) -> Plan:
        """What will be compared. Raises InputError when the dumps cannot be used."""
        benchmark = None if self.benchmark is None else Path(self.benchmark)
        return _plan(Path(self.problem), benchmark, self.options)

    def instructions(self) -> Instructions:
        """What every pair is worked on with; raises InputError for files that cannot be used."""
        rules = match_rules(self.options, self.is_comparison)
        checks = _checks(self.options, self.is_comparison)
        return Instructions(self.options, rules, load_extensions(), checks)


Gather = Callable[[Database], list[PairOutcome]]


def build(
    problem: Path | str,
    benchmark: Path | str | None,
    output: Path | str,
    options: BuildOptions | None = None,
    progress: Progress | None = None,
    phases: Phases | None = None,
) -> BuildResult:
    """Compare two dumps (or draw one) and write `<output>/compare_<time>.vis.db`.

    `problem` and `benchmark` are two ranks, two steps or two whole dumps; `progress` hears of each
    pair that is done, `phases` of each phase that one enters. Raises InputError when
    they cannot be used and OutputError when nothing can be written; a pair that fails on its own
    is an outcome of the result.
    """
    other = None if benchmark is None else str(benchmark)
    request = Request(str(problem), other, options or BuildOptions())
    plan, instructions = request.plan(), request.instructions()

    def gather(database: Database) -> list[PairOutcome]:
        return _run(plan, database, instructions, progress, phases)

    return put_together(request, plan, instructions.rules, Path(output), gather)


def put_together(
    request: Request, plan: Plan, rules: MatchRules, output: Path, gather: Gather
) -> BuildResult:
    """Make the file of a build whose pairs `gather` puts into it, with what all of them tell."""
    stem = "compare" if request.is_comparison else "build"
    database = Database.create(output, stem)
    try:
        outcomes = gather(database)
        plan = _without_joined(plan, outcomes, database)
        check_rules(rules, request.options, outcomes)
        links, discords = link_ranks(outcomes)
        conflicts = rank_conflicts(plan.pairs, outcomes, database)
        told = [each.finding for each in conflicts]
        findings = one_a_fault(order_findings(outcomes, [*told, *discords], links), conflicts)
        summary = _summary(plan, outcomes, request.is_comparison)
        mode = next((o.mode for o in outcomes if o.mode is not None), "structure")
        facts = _meta(request, mode, summary) | merged_values(outcomes) | manual_pairs(rules)
        if request.is_comparison:
            facts["evidence"] = msgspec.json.encode(evidence_of(outcomes)).decode()
        facts |= ends_facts(outcomes) | kind_facts(outcomes)
        _write_whole(database, findings, links, facts)
        database.add_indexes()
        findings = with_reaches(database, findings)
        path = database.finish()
    except sqlite3.OperationalError as error:
        database.discard()
        raise OutputError(
            f"{output}: cannot be written ({error})", "free space or choose another -o"
        ) from error
    except BaseException:  # raised again; nothing half written stays
        database.discard()
        raise
    return BuildResult(
        path=path,
        mode=mode,
        outcomes=tuple(outcomes),
        missing=len(plan.missing),
        findings=tuple(findings),
        summary=tuple(summary),
        comparison=request.is_comparison,
        evidence=whole_evidence(outcomes, [(gone.step, gone.rank) for gone in plan.missing]),
    )


def _without_joined(plan: Plan, outcomes: list[PairOutcome], database: Database) -> Plan:
    """The plan without steps of one run alone whose tokens were joined with those of another."""
    beside = _beside(plan)
    if any(outcome.tokens is not None for outcome in outcomes):
        return replace(plan, missing=tuple(m for m in plan.missing if m.path not in beside))
    for missing in plan.missing:
        if missing.path in beside:
            store_missing(database, missing)
    return plan


def _beside(plan: Plan) -> set[Path]:
    return {path for pair in plan.pairs for path in pair.beside}


def _plan(problem: Path, benchmark: Path | None, options: BuildOptions) -> Plan:
    dump = find_sources(problem)
    if benchmark is None:
        return plan_single(dump)
    return plan_comparison(dump, find_sources(benchmark), options)


def _checks(options: BuildOptions, comparison: bool) -> Checks | None:
    if options.acc_check is None:
        return None
    if comparison:
        raise InputError(
            f"{options.acc_check}: a pre-check belongs to one dump", "leave the benchmark out"
        )
    return read_checks(options.acc_check)


def _run(
    plan: Plan,
    database: Database,
    instructions: Instructions,
    progress: Progress | None,
    phases: Phases | None,
) -> list[PairOutcome]:
    report = counted(_count(plan), progress)
    lost = store_unworked(database, plan)
    for outcome in lost:
        report(outcome)
    several = len({pair.step for pair in plan.pairs}) > 1
    work = StoredPairs(database.final, replace(instructions, several_steps=several))
    watch = None if phases is None else _watch(phases, _count(plan))
    meanwhile = load_readers if any(pair.benchmark is not None for pair in plan.pairs) else None
    executor = LocalProcesses(instructions.options.workers, watch, meanwhile)
    return lost + executor.run(plan.pairs, work, report)


def _watch(phases: Phases, count: int) -> Watch:
    def watch(pair: PairPlan, phase: Phase) -> None:
        phases(PhaseEntered(pair.step, pair.rank, phase, count))

    return watch


def _count(plan: Plan) -> int:
    return len(plan.pairs) + len(plan.broken)


def counted(total: int, progress: Progress | None) -> Callable[[PairOutcome], None]:
    """Calls `progress` with the number of pairs that are done, and of all of them."""
    done = 0

    def report(outcome: PairOutcome) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, outcome)

    return report


def store_unworked(database: Database, plan: Plan) -> list[PairOutcome]:
    """Store what a plan knows to be missing or broken; returns the outcomes of the latter."""
    # Whether what lies beside a pair is missing is known when the pair was read.
    beside = _beside(plan)
    for missing in plan.missing:
        if missing.path not in beside:
            store_missing(database, missing)
    return [store_failure(database, broken.pair, broken.error) for broken in plan.broken]


def _summary(plan: Plan, outcomes: list[PairOutcome], comparison: bool) -> list[Reason]:
    said: list[Reason] = [*plan.notes]
    precision = next((o.precision for o in outcomes if o.precision is not None), None)
    if precision is not None and precision[0] != precision[1]:
        said.append(PrecisionSetting(*precision))
    said += notes_on(outcomes)
    said += rated_errors(outcomes)
    said += decided_ties(outcomes)
    said += merged_summary(outcomes)
    said += [OnlyIn(missing.step, missing.rank, missing.side) for missing in plan.missing]
    if comparison and not any(outcome.compared for outcome in outcomes):
        said.append(NothingComparable())
    return said


def _meta(request: Request, mode: str, summary: list[Reason]) -> dict[str, object]:
    facts: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": tool_version(),
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "task": mode,
        "options": json.dumps(asdict(request.options), default=str),
        "problem": request.problem,
        "summary": encode(summary) or "[]",
    }
    return facts if request.benchmark is None else {**facts, "benchmark": request.benchmark}


def _certainty(finding: StoredFinding, *, behind: bool) -> str:
    said = certainty_of(finding.reasons, finding.basis, behind=behind)
    return msgspec.json.encode(said).decode()


def _are_behind(findings: Sequence[StoredFinding]) -> Iterator[bool]:
    """Of each whether one that is listed before it runs before it, or nobody can tell.

    It may have a place before all of them, or stand alone. Nodes of one side have ids in the order
    they ran in; with those of another side or rank they have no order.
    """
    earliest: tuple[int, int] | None = None
    sides: set[tuple[int, bool]] = set()
    for finding in findings:
        own = [(place.step, place.node) for place in finding.places if place.rank == finding.rank]
        at, side = (finding.step, finding.node), (finding.rank, finding.of_benchmark)
        runs_before = earliest is not None and earliest < min([at, *own])
        yield (runs_before or not sides <= {side}) and not finding.stands_alone
        earliest = at if earliest is None else min(earliest, at)
        sides.add(side)


def tool_version() -> str:
    """The version of this installation, `unknown` in a tree that is not installed."""
    try:
        return version("tb-graph-ascend")
    except PackageNotFoundError:
        return "unknown"


def _write_whole(
    database: Database,
    findings: list[StoredFinding],
    links: list[Link],
    meta: dict[str, object],
) -> None:
    with database.transaction() as connection:
        write_meta(connection, meta)
        spoken = [(link.node, link.peer_rank, link.peer_node, link.kind) for link in links]
        insert_rows(connection, "communication", COMMUNICATION.columns, spoken)
        rows = [
            (
                number,
                finding.graph,
                finding.node,
                finding.kind,
                finding.score,
                finding.input_score,
                finding.introduced,
                encode(finding.reasons) or "[]",
                finding.propagated_to,
                json.dumps([asdict(place) for place in finding.places]),
                finding.perhaps,
                finding.divergent,
                _certainty(finding, behind=behind),
                finding.line_alone,
            )
            for number, (finding, behind) in enumerate(
                zip(findings, _are_behind(findings), strict=True), 1
            )
        ]
        insert_rows(connection, "finding", FINDING.columns, rows)
