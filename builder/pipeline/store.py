"""Stores the result of one pair in the database, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from builder.communication import Message, messages
from builder.compare import Comparison
from builder.database.writer import Database, insert_columns, insert_record
from builder.diagnosis.finding import Finding
from builder.match.nodes import MatchRules
from builder.options import BuildOptions
from builder.pipeline.early_store import EarlyStore
from builder.pipeline.layout import Placed
from builder.pipeline.node_rows import judged_columns, node_columns
from builder.pipeline.pair import ComparedPair, Instructions, PairResult
from builder.pipeline.plan import Missing, PairPlan
from builder.reasons import Reason


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """A finding by its node's id, as it travels between processes."""

    step: int
    rank: int
    graph: int
    node: int
    name: str
    kind: str
    is_api: bool
    sort_key: tuple[int, int]
    score: float | None
    input_score: float | None
    introduced: float | None
    reasons: list[Reason]
    propagated_to: int
    inherits: frozenset[Hashable] = frozenset()


@dataclass(frozen=True, slots=True)
class RuleState:
    """Whether a layer mapping's rule fitted a module, and whether it led to one."""

    used: bool
    reached: bool


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What the whole build needs to know of one pair; `error` is set when it failed.

    `rules` and `manual` say by position which mapping rules and manual pairs found their nodes;
    `late` and `tolerated` are for the next step to look at; `graphs` and `messages` stand in the
    order problem, benchmark.
    """

    step: int
    rank: int
    error: str | None = None
    mode: str | None = None
    matched: int = 0
    unmatched_problem: int = 0
    unmatched_benchmark: int = 0
    compared: int = 0
    precision: tuple[str, str] | None = None
    statistics_only: bool = False
    gradients_agree: bool | None = None
    rules: tuple[RuleState, ...] = ()
    manual: tuple[bool, ...] = ()
    findings: tuple[StoredFinding, ...] = ()
    late: StoredFinding | None = None
    tolerated: frozenset[Hashable] = frozenset()
    graphs: tuple[int, ...] = ()
    messages: tuple[tuple[Message, ...], ...] = ()


def store(
    database: Database, result: PairResult, instructions: Instructions, early: EarlyStore
) -> PairOutcome:
    """Write the problem's nodes and all graphs of a pair; returns its outcome."""
    pair, options = result.pair, instructions.options
    problem, benchmark = early.places
    # The columns are ready before the lock is taken, since other pairs wait for it.
    full, sparse = node_columns(problem, benchmark, pair)
    if benchmark is not None and pair.comparison is not None:
        more, more_sparse = judged_columns(
            problem, benchmark, pair.comparison, result, options.threshold
        )
        full, sparse = full | more, sparse | more_sparse
    early.finish()
    with database.transaction() as connection:
        insert_columns(connection, "node", full, sparse)
        # What makes the nodes and values part of a graph comes last.
        _insert_graphs(connection, pair, problem, benchmark, options)
    return _outcome(result, problem, benchmark, instructions.rules)


def store_failure(database: Database, plan: PairPlan, error: str) -> PairOutcome:
    """Leave a row that says why a pair has no graphs."""
    _store_state(database, plan.step, plan.rank, "problem", "failed", error, str(plan.problem))
    return PairOutcome(plan.step, plan.rank, error=error)


def store_missing(database: Database, missing: Missing) -> None:
    """Leave a row for a step and rank that one side alone has."""
    other = "benchmark" if missing.side == "problem" else "problem"
    text = f"exists on the {missing.side} side only ({missing.path})"
    _store_state(database, missing.step, missing.rank, other, "missing", text, str(missing.path))


def _store_state(
    database: Database, step: int, rank: int, side: str, status: str, error: str, path: str
) -> None:
    graph = database.reserve({"graph": 1})["graph"]
    facts = {"id": graph, "step": step, "rank": rank, "side": side, "status": status}
    with database.transaction() as connection:
        insert_record(connection, "graph", {**facts, "error": error, "dump_dir": path})


def _insert_graphs(
    connection: sqlite3.Connection,
    pair: ComparedPair,
    problem: Placed,
    benchmark: Placed | None,
    options: BuildOptions,
) -> None:
    comparison = pair.comparison
    scores = comparison.node_score if comparison is not None else np.array([])
    known = scores[~np.isnan(scores)]
    matched = len(comparison.matching.partner) // 2 - 1 if comparison is not None else 0
    for side in (problem, benchmark):
        if side is None:
            continue
        dump = side.tree.dump
        ours = side is problem
        row = {
            "id": side.graph,
            "step": pair.plan.step,
            "rank": pair.plan.rank,
            "side": "problem" if ours else "benchmark",
            "root": side.id_of(side.tree.root),
            "framework": dump.framework,
            "level": dump.level,
            "dump_dir": str(dump.path.absolute()),
            "precision": comparison.precision[0 if ours else 1] if comparison else None,
            "micro_steps": 1 + max(node.micro_step for node in side.listed),
            "status": "ok",
            "nodes": len(side.tree.in_order) - 1,
            "matched": matched,
            "divergent": int((known > options.threshold).sum()) if ours else 0,
            "worst": float(known.max()) if ours and known.size else None,
        }
        insert_record(connection, "graph", row)


def _outcome(
    result: PairResult, problem: Placed, benchmark: Placed | None, rules: MatchRules
) -> PairOutcome:
    plan, comparison = result.pair.plan, result.pair.comparison
    if comparison is None or benchmark is None:
        own = _messages(problem)
        return PairOutcome(plan.step, plan.rank, graphs=(problem.graph,), messages=(own,))
    matched = len(comparison.matching.partner) // 2 - 1
    late = result.walked.late
    tasks = {problem.tree.dump.task, benchmark.tree.dump.task}
    return PairOutcome(
        step=plan.step,
        rank=plan.rank,
        mode=comparison.mode,
        matched=matched,
        unmatched_problem=len(problem.tree.in_order) - 1 - matched,
        unmatched_benchmark=len(benchmark.tree.in_order) - 1 - matched,
        compared=int((~np.isnan(comparison.score)).sum()),
        precision=comparison.precision,
        statistics_only=tasks == {"tensor", "statistics"},
        gradients_agree=_gradients_agree(comparison),
        rules=_rule_states(rules),
        manual=_manual_states(result.pair, rules),
        findings=tuple(_stored(f, result, problem, benchmark) for f in result.walked.findings),
        late=_stored(late, result, problem, benchmark) if late is not None else None,
        tolerated=result.walked.tolerated,
        graphs=(problem.graph, benchmark.graph),
        messages=(_messages(problem), _messages(benchmark)),
    )


def _messages(side: Placed) -> tuple[Message, ...]:
    return tuple(messages(side.tree, side.id_of))


def _rule_states(rules: MatchRules) -> tuple[RuleState, ...]:
    mapping = rules.layer_mapping
    if mapping is None:
        return ()
    return tuple(RuleState(rule.used, rule.reached) for rule in mapping.rules)


def _manual_states(pair: ComparedPair, rules: MatchRules) -> tuple[bool, ...]:
    assert pair.benchmark is not None
    return tuple(
        mapped.applies_to(pair.plan.step, pair.plan.rank)
        and mapped.problem in pair.problem.by_name
        and mapped.benchmark in pair.benchmark.by_name
        for mapped in rules.manual
    )


def _gradients_agree(comparison: Comparison) -> bool | None:
    scores = [
        comparison.node_score[node.exec_order]
        for node in comparison.matching.problem.in_order
        if node.entry is not None and node.entry.kind == "parameters_grad"
    ]
    known = [score for score in scores if not np.isnan(score)]
    return max(known) == 0.0 if known else None


def _stored(
    finding: Finding, result: PairResult, problem: Placed, benchmark: Placed
) -> StoredFinding:
    side = problem if finding.side == "problem" else benchmark
    return StoredFinding(
        step=result.pair.plan.step,
        rank=result.pair.plan.rank,
        graph=side.graph,
        node=side.id_of(finding.node),
        name=finding.node.name,
        kind=finding.kind,
        is_api=finding.node.kind == "api",
        sort_key=finding.sort_key(),
        score=finding.score,
        input_score=finding.input_score,
        introduced=finding.introduced,
        reasons=finding.reasons,
        propagated_to=finding.propagated_to,
        inherits=finding.inherits,
    )
