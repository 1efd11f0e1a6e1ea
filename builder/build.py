"""Builds a result database from dumps: the builder's front door."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from builder.communication import Link
from builder.database.tables import COMMUNICATION, FINDING, SCHEMA_VERSION
from builder.database.writer import Database, insert_rows, write_meta
from builder.dump.sources import find_sources
from builder.errors import InputError, MappingError, OutputError
from builder.extensions import load_extensions
from builder.match.layer_mapping import LayerMapping
from builder.match.manual_file import read_mapping
from builder.match.nodes import MatchRules
from builder.options import BuildOptions
from builder.pipeline.order import link_ranks, order_findings
from builder.pipeline.pair import Instructions
from builder.pipeline.plan import Plan, plan_pairs, plan_single
from builder.pipeline.run import run_pairs
from builder.pipeline.store import PairOutcome, StoredFinding, store_missing
from builder.reasons import Reason

Progress = Callable[[int, int, PairOutcome], None]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build made: the file, what became of each pair, and the findings in order."""

    path: Path
    mode: str
    outcomes: tuple[PairOutcome, ...]
    missing: int
    findings: tuple[StoredFinding, ...]
    summary: tuple[Reason, ...]

    @property
    def failed(self) -> tuple[PairOutcome, ...]:
        """The pairs that have an error instead of graphs."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)

    @property
    def compared_values(self) -> int:
        """How many values were compared over all pairs."""
        return sum(outcome.compared for outcome in self.outcomes)


def build(
    problem: Path | str,
    benchmark: Path | str | None,
    output: Path | str,
    options: BuildOptions | None = None,
    progress: Progress | None = None,
) -> BuildResult:
    """Compare two dumps (or draw one) and write `<output>/compare_<time>.vis.db`.

    `problem` and `benchmark` are two ranks, two steps or two whole dumps. Raises InputError when
    they cannot be used and OutputError when nothing can be written; a pair that fails on its own
    is an outcome of the result.
    """
    options = options or BuildOptions()
    plan = _plan(Path(problem), Path(benchmark) if benchmark is not None else None, options)
    rules = _match_rules(options, benchmark is not None)
    instructions = Instructions(options, rules, load_extensions())
    stem = "compare" if benchmark is not None else "build"
    database = Database.create(Path(output), stem)
    try:
        outcomes = _run(plan, database, instructions, progress)
        _check_rules(instructions.rules, options, outcomes)
        links, discords = link_ranks(outcomes)
        findings = order_findings(outcomes, discords)
        summary = _summary(plan, outcomes, benchmark is not None)
        mode = next((o.mode for o in outcomes if o.mode is not None), "structure")
        facts = _meta(problem, benchmark, options, mode, summary)
        _write_whole(database, findings, links, facts)
        path = database.finish()
    except sqlite3.OperationalError as error:
        database.discard()
        raise OutputError(
            f"{output}: cannot be written ({error}); free space or choose another -o"
        ) from error
    except BaseException:
        database.discard()
        raise
    return BuildResult(
        path=path,
        mode=mode,
        outcomes=tuple(outcomes),
        missing=len(plan.missing),
        findings=tuple(findings),
        summary=tuple(summary),
    )


def _plan(problem: Path, benchmark: Path | None, options: BuildOptions) -> Plan:
    found = find_sources(problem)
    if benchmark is None:
        return plan_single(found)
    return plan_pairs(found, find_sources(benchmark), options.rank_map, options.step_map)


def _layer_mapping(path: Path) -> LayerMapping:
    # Few builds need YAML, and loading its parser takes as long as reading a small dump.
    from builder.match.layer_file import read_layer_mapping

    return read_layer_mapping(path)


def _match_rules(options: BuildOptions, comparison: bool) -> MatchRules:
    mapping, manual = options.layer_mapping, options.manual_mapping
    wanted = mapping or manual or options.fuzzy_match or options.match_by_position
    if wanted and not comparison:
        raise InputError("mappings and fuzzy matching pair two dumps; give a benchmark too")
    if mapping is not None and options.match_by_position:
        raise InputError(f"{mapping}: a mapping file and matching by position exclude each other")
    return MatchRules(
        layer_mapping=_layer_mapping(mapping) if mapping is not None else None,
        by_position=options.match_by_position,
        fuzzy=options.fuzzy_match,
        manual=read_mapping(manual) if manual is not None else (),
    )


def _check_rules(rules: MatchRules, options: BuildOptions, outcomes: list[PairOutcome]) -> None:
    done = [outcome for outcome in outcomes if outcome.error is None]
    if not done:
        return
    if rules.layer_mapping is not None:
        states = list(zip(*(outcome.rules for outcome in done)))
        used = [any(state.used for state in column) for column in states]
        reached = [any(state.reached for state in column) for column in states]
        rules.layer_mapping.check(used, reached)
    for pair, found in zip(rules.manual, zip(*(outcome.manual for outcome in done))):
        if not any(found):
            raise MappingError(
                f"{options.manual_mapping}: no step and rank has both {pair.problem} and "
                f"{pair.benchmark}; remove this pair"
            )


def _run(
    plan: Plan, database: Database, instructions: Instructions, progress: Progress | None
) -> list[PairOutcome]:
    done = 0

    def report(outcome: PairOutcome) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(plan.pairs), outcome)

    for missing in plan.missing:
        store_missing(database, missing)
    return run_pairs(plan.pairs, database, instructions, report)


def _summary(plan: Plan, outcomes: list[PairOutcome], comparison: bool) -> list[Reason]:
    said: list[Reason] = []
    precision = next((o.precision for o in outcomes if o.precision is not None), None)
    if precision is not None and precision[0] != precision[1]:
        ours, theirs = precision
        said.append({"code": "precision_setting", "problem": ours, "benchmark": theirs})
    if any(outcome.statistics_only for outcome in outcomes):
        said.append({"code": "statistics_only"})
    for missing in plan.missing:
        place: Reason = {"code": "only_in", "step": missing.step, "rank": missing.rank}
        said.append({**place, "side": missing.side})
    if comparison and not any(outcome.compared for outcome in outcomes):
        said.append({"code": "nothing_comparable"})
    return said


def _meta(
    problem: Path | str,
    benchmark: Path | str | None,
    options: BuildOptions,
    mode: str,
    summary: list[Reason],
) -> dict[str, object]:
    facts: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": _tool_version(),
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "task": mode,
        "options": json.dumps(asdict(options), default=str),
        "problem": str(problem),
        "summary": summary,
    }
    return facts if benchmark is None else {**facts, "benchmark": str(benchmark)}


def _tool_version() -> str:
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
        spoken = [(found.node, found.peer_rank, found.peer_node, found.kind) for found in links]
        insert_rows(connection, "communication", COMMUNICATION.columns, spoken)
        rows = [
            (
                place,
                finding.graph,
                finding.node,
                finding.kind,
                finding.score,
                finding.input_score,
                finding.introduced,
                json.dumps(finding.reasons, ensure_ascii=False),
                finding.propagated_to,
            )
            for place, finding in enumerate(findings, 1)
        ]
        insert_rows(connection, "finding", FINDING.columns, rows)
