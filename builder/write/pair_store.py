"""Stores the result of one pair in the database, in one transaction."""

from __future__ import annotations

import sqlite3

import numpy as np

from builder.compare.statistics import Floats
from builder.judge.acc_check import SCORES
from builder.storage.folder import address_of
from builder.work.options import BuildOptions
from builder.work.outcome import PairOutcome
from builder.work.pair import Instructions, PairResult
from builder.work.plan import Missing, PairPlan
from builder.work.summary import outcome_of
from builder.write.early_store import EarlyStore
from builder.write.node_rows import checked_columns, judged_columns, node_columns
from builder.write.placement import Placed
from builder.write.result_writer import Database, insert_columns, insert_record, insert_rows
from builder.write.shard_rows import Row, layout_rows, paired, shard_rows
from builder.write.tables import LAYOUT, SHARD, TOKEN_CELL, TOKEN_LINE, WEIGHT
from builder.write.token_rows import token_cell_rows, token_line_rows
from builder.write.weight_rows import weight_rows


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
    elif result.judgements:
        more, more_sparse = checked_columns(problem, result, options.threshold)
        full, sparse = full | more, sparse | more_sparse
    layouts, shards = _of_ranks(result, problem, benchmark, options)
    weights = list(weight_rows(pair.weights, problem))
    cells, lines = _of_tokens(result, problem)
    early.finish()
    with database.transaction() as connection:
        insert_columns(connection, "node", full, sparse)
        insert_rows(connection, "layout", LAYOUT.columns, layouts)
        insert_rows(connection, "shard", SHARD.columns, shards)
        insert_rows(connection, "weight", WEIGHT.columns, weights)
        insert_rows(connection, "token_cell", TOKEN_CELL.columns, cells)
        insert_rows(connection, "token_line", TOKEN_LINE.columns, lines)
        # What makes the nodes and values part of a graph comes last.
        _insert_graphs(connection, result, problem, benchmark, options)
    return outcome_of(result, problem, benchmark, instructions)


def _of_ranks(
    result: PairResult, problem: Placed, benchmark: Placed | None, options: BuildOptions
) -> tuple[list[Row], list[Row]]:
    """How joined values lie over the ranks, and what those hold; nothing without merging."""
    merged, comparison = result.pair.merged, result.pair.comparison
    if merged is None or comparison is None or benchmark is None:
        return [], []
    bases = problem.value_base, benchmark.value_base
    pairs = paired(comparison.pairs)
    shards = shard_rows(result, merged, pairs, bases, options.threshold)
    return list(layout_rows(merged, pairs, bases)), list(shards)


def _of_tokens(result: PairResult, problem: Placed) -> tuple[list[Row], list[Row]]:
    """The cells and lines over tokens; nothing where these were not aligned."""
    comparison = result.pair.comparison
    if comparison is None:
        return [], []
    cells = token_cell_rows(comparison.matching.token_errors, problem.graph)
    return list(cells), list(token_line_rows(comparison, problem))


def store_failure(database: Database, plan: PairPlan, error: str) -> PairOutcome:
    """Leave a row that says why a pair has no graphs."""
    _store_state(
        database, plan.step, plan.rank, "problem", "failed", error, address_of(plan.problem)
    )
    return PairOutcome(plan.step, plan.rank, error=error)


def store_missing(database: Database, missing: Missing) -> None:
    """Leave a row for a step and rank that one side alone has."""
    other = "benchmark" if missing.side == "problem" else "problem"
    text = f"exists on the {missing.side} side only ({address_of(missing.path)})"
    _store_state(
        database, missing.step, missing.rank, other, "missing", text, address_of(missing.path)
    )


def _store_state(
    database: Database, step: int, rank: int, side: str, status: str, error: str, path: str
) -> None:
    graph = database.reserve({"graph": 1})["graph"]
    facts = {"id": graph, "step": step, "rank": rank, "side": side, "status": status}
    with database.transaction() as connection:
        insert_record(connection, "graph", {**facts, "error": error, "dump_dir": path})


def _insert_graphs(
    connection: sqlite3.Connection,
    result: PairResult,
    problem: Placed,
    benchmark: Placed | None,
    options: BuildOptions,
) -> None:
    pair, comparison = result.pair, result.pair.comparison
    scores = comparison.nodes.stated if comparison is not None else _checked_scores(result)
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
            "precision": comparison.setting.precision[0 if ours else 1] if comparison else None,
            "micro_steps": 1 + max(node.micro_step for node in side.listed),
            "status": "ok",
            "nodes": len(side.tree.in_order) - 1,
            "matched": matched,
            "divergent": int((known > options.threshold).sum()) if ours else 0,
            "worst": float(known.max()) if ours and known.size else None,
            "begins": _beginning(scores, options.threshold) if ours else None,
        }
        insert_record(connection, "graph", row)


def _beginning(scores: Floats, threshold: float) -> float | None:
    """The share of nodes, in order of completion, before the first that diverges."""
    divergent = np.flatnonzero(scores > threshold)
    return float(divergent[0]) / len(scores) if len(divergent) else None


def _checked_scores(result: PairResult) -> Floats:
    judged = [SCORES[judgement.verdict] for judgement in result.judgements.values()]
    return np.array(judged, dtype=np.float64)
