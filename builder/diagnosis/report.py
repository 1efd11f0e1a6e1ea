"""Reads the diagnosis out of a result database, as records and as the JSON other tools rely on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from builder.errors import InputError
from builder.reasons import decode, sentence

REPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Suspect:
    """One finding: a node where the runs begin to differ; `reasons` are English sentences.

    `inside` is the module that contains the node; None at the top level.
    """

    step: int
    rank: int
    node: str
    type: str
    direction: str
    order: int
    score: float | None
    input_score: float | None
    introduced: float | None
    reasons: list[str]
    propagated_to: int
    kind: str
    side: str
    inside: str | None
    stack: str | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All suspects in order, the first to look at first, and what the comparison covered."""

    database: Path
    task: str
    pairs: int
    matched: int
    unmatched_problem: int
    unmatched_benchmark: int
    failed: list[dict[str, int | str]]
    summary: list[str]
    findings: list[Suspect]
    worst: float | None
    comparable: bool

    def as_json(self) -> dict[str, object]:
        """The documented form, version 1."""
        keys = [
            "step",
            "rank",
            "node",
            "type",
            "direction",
            "order",
            "score",
            "input_score",
            "introduced",
            "reasons",
            "propagated_to",
        ]
        return {
            "version": REPORT_VERSION,
            "database": str(self.database),
            "task": self.task,
            "coverage": {
                "pairs": self.pairs,
                "matched": self.matched,
                "unmatched_problem": self.unmatched_problem,
                "unmatched_benchmark": self.unmatched_benchmark,
                "failed": self.failed,
            },
            "findings": [{key: getattr(f, key) for key in keys} for f in self.findings],
        }


def diagnose(path: Path | str, top: int | None = None) -> Diagnosis:
    """Read the findings of a result database, at most `top` of them.

    Raises InputError when the file is missing or is no result database of this tool.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; `msprobe graph_visualize` makes one")
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return _read(path, connection, top)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(
            f"{path}: is no result database of this tool ({error}); build one with "
            "`msprobe graph_visualize`"
        ) from None


def _read(path: Path, connection: sqlite3.Connection, top: int | None) -> Diagnosis:
    connection.row_factory = sqlite3.Row
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    graphs = connection.execute("SELECT * FROM graph ORDER BY step, rank, side").fetchall()
    problem = [g for g in graphs if g["side"] == "problem" and g["status"] == "ok"]
    benchmark = [g for g in graphs if g["side"] == "benchmark" and g["status"] == "ok"]
    summary = decode(meta.get("summary"))
    worst = [g["worst"] for g in problem if g["worst"] is not None]
    return Diagnosis(
        database=path,
        task=meta.get("task", "structure"),
        pairs=len(problem),
        matched=sum(g["matched"] for g in problem),
        unmatched_problem=sum(g["nodes"] - g["matched"] for g in problem),
        unmatched_benchmark=sum(g["nodes"] - g["matched"] for g in benchmark),
        failed=[
            {"step": g["step"], "rank": g["rank"], "error": g["error"]}
            for g in graphs
            if g["status"] == "failed"
        ],
        summary=[sentence(reason) for reason in summary],
        findings=[_suspect(row) for row in connection.execute(_FINDINGS, (top or -1,))],
        worst=max(worst, default=None),
        comparable=not any(reason["code"] == "nothing_comparable" for reason in summary),
    )


_FINDINGS = """
    SELECT finding.*, graph.step, graph.rank, graph.side, node.name,
           node.kind AS node_kind, node.direction, node.exec_order, stack.text AS stack_text,
           parent.name AS parent_name, parent.kind AS parent_kind
    FROM finding
    JOIN node ON node.id = finding.node
    JOIN graph ON graph.id = finding.graph
    LEFT JOIN node AS parent ON parent.id = node.parent
    LEFT JOIN stack ON stack.id = node.stack
    ORDER BY finding.id LIMIT ?
"""


def _suspect(row: sqlite3.Row) -> Suspect:
    return Suspect(
        step=row["step"],
        rank=row["rank"],
        node=row["name"],
        type="api" if row["node_kind"] == "api" else "module",
        direction=row["direction"] or "forward",
        order=row["exec_order"],
        score=row["score"],
        input_score=row["input_score"],
        introduced=row["introduced"],
        reasons=[sentence(reason) for reason in decode(row["reasons"])],
        propagated_to=row["propagated_to"],
        kind=row["kind"],
        side=row["side"],
        inside=row["parent_name"] if row["parent_kind"] == "module" else None,
        stack=row["stack_text"],
    )
