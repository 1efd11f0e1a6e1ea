"""Reads the diagnosis out of a result database, as records and as the JSON other tools rely on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

import msgspec

from builder.claim import Claim, Evidence, claim, claim_facts
from builder.compare.score import THRESHOLD
from builder.dump.stack_frames import SourceLine, line_there, source_lines
from builder.errors import DatabaseError
from builder.finding_certainty import Certainty, certainty_told
from builder.reasons import (
    AxisFact,
    Explained,
    Fact,
    GradientsScaled,
    Heals,
    Misplaced,
    NothingComparable,
    OnRanks,
    OptimizerDiffers,
    OtherAxis,
    PartialUsed,
    RankedFact,
    RanksConflict,
    Reason,
    ReplicaDiffers,
    UpdateAlone,
    decode,
    replaced_by,
    sentence,
    sentences,
)
from builder.results.certainty import refusal, share_of
from builder.results.extent import Extent, extent_of
from builder.results.finding_facts import OF_MERGED_RANKS, FindingFacts, certainty_facts
from builder.results.newest import result_file
from builder.results.opening import connect, format_of, ran_too_long
from builder.results.shown_evidence import (
    NO_STATE,
    FileState,
    evidence_of_file,
    stored_evidence,
)
from builder.results.stored_rows import certainty_in
from builder.results.value_measures import measure_of
from builder.results.volumes import Volumes
from msprobe_core.format import NameSyntaxError, parse_entry
from msprobe_core.format.bounded import parse_json

REPORT_VERSION = 1


def reach_told(certain: int, perhaps: int | None, divergent: int | None, places: int) -> str | None:
    """How far a cause reaches, as the page says it; None where nothing was traced back to it.

    `places` is over how many pairs of step and rank it is counted. What it leads to may not have
    been followed, as a gradient that one run lacks: that none is traced is not told as a number.
    """
    if not divergent or not (certain or perhaps):
        return None
    where = "there" if places == 1 else f"in its {places} pairs (step, rank)"
    told = f"all {certain}" if certain == divergent > 1 else f"{certain} of {divergent}"
    guessed = f", {perhaps} more perhaps" if perhaps else ""
    return f"{told} divergent nodes {where} trace back to it{guessed}"


@dataclass(frozen=True, slots=True)
class Suspect:
    """One finding: a node where the runs begin to differ; `reasons` are English sentences.

    `inside` is the module that contains the node; None at the top level. Of merged ranks: `path` in
    the logical model, the guilty `ranks` and where they stand, the `axis` and the `check` that
    failed between them, and what the node is called there. `places` are where the same cause showed
    again: step, rank and node of each. `apart` is how far a value is off, the relative error that
    tables have, `explained` how much of it its inputs explain; None where no distance is known. It
    `heals` where all that its step puts out agrees: another way to the same result. `certainty`
    tells how sure it is; None in files of earlier releases.

    `propagated_to` divergent nodes trace back to it, itself included if it diverges, and further
    ones `perhaps`, of all that are `divergent` in the steps and ranks of its places; None where the
    file is too damaged to count them, and `propagated_to` is what its diagnosis attributed to it.
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
    perhaps: int | None
    divergent: int | None
    kind: str
    side: str
    inside: str | None
    stack: str | None
    places: list[dict[str, int | str]]
    path: str
    stack_there: str | None = None
    ranks: tuple[int, ...] = ()
    coordinates: str | None = None
    axis: str | None = None
    check: str | None = None
    origin: str | None = None
    apart: float | None = None
    explained: float | None = None
    heals: bool = False
    certainty: Certainty | None = None
    node_id: int = -1

    @property
    def sure(self) -> str:
        """How sure it is, and why."""
        return certainty_told(self.certainty)

    @property
    def line_there(self) -> SourceLine | None:
        """The benchmark's line of the same call, where it tells something."""
        return line_there(*self.stacks, called_otherwise=self.kind == "argument_differs")

    @property
    def stacks(self) -> tuple[list[str], list[str]]:
        """The frames of its call and, where the benchmark makes that too, of the call there."""
        return (self.stack or "").splitlines(), (self.stack_there or "").splitlines()

    @property
    def reach(self) -> str | None:
        """How many of the divergent nodes of its steps and ranks trace back to it, in words."""
        places = {(self.step, self.rank), *((p["step"], p["rank"]) for p in self.places)}
        return reach_told(self.propagated_to, self.perhaps, self.divergent, len(places))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All suspects in order, the first to look at first, and what the comparison covered.

    `kind` says which kind of pair the runs are, `evidence` what was compared and what was not, both
    None in files of earlier releases, `state` what the graphs tell besides, `notes` what `summary`
    words. Where `refusal` has a text, the runs share too few calls for a beginning to be `named`.
    `extent` tells how far apart runs are that agree; None where something diverges.
    """

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
    evidence: Evidence | None = None
    state: FileState = NO_STATE
    notes: tuple[Reason, ...] = ()
    values: dict[str, object] | None = None
    extent: Extent | None = None
    kind: Reason | None = None

    @property
    def claim(self) -> Claim:
        """What may be said of the two runs, and on what evidence."""
        heals = bool(self.named) and self.named[0].heals  # those stand behind all others
        hidden = len(self.findings) - len(self.named)
        state = replace(self.state, unnamed=hidden)
        return claim(evidence_of_file(self.evidence, state), len(self.named), heals=heals)

    @property
    def refusal(self) -> str | None:
        """Why no beginning is named; None where the runs share enough calls for one."""
        return refusal((self,), self.pairs, self.notes)

    @property
    def named(self) -> list[Suspect]:
        """The findings that a person is told of."""
        return [] if self.refusal else self.findings

    def as_json(self) -> dict[str, object]:
        """The documented form, version 1."""
        return {
            "version": REPORT_VERSION,
            "database": str(self.database),
            "task": self.task,
            "coverage": {
                "pairs": self.pairs,
                "matched": self.matched,
                "unmatched_problem": self.unmatched_problem,
                "unmatched_benchmark": self.unmatched_benchmark,
                "share": share_of((self,)),
                "failed": self.failed,
                **({} if self.values is None else {"values": self.values}),
            },
            "kind": None if self.kind is None else _kind_facts(self.kind),
            "refusal": self.refusal,
            "claim": _sent(claim_facts(self.claim)),
            "extent": None if self.extent is None else _sent(msgspec.to_builtins(self.extent)),
            "findings": msgspec.to_builtins(self.facts()),
        }

    def facts(self) -> list[FindingFacts]:
        """The findings that a person is told of, each as JSON has it."""
        merged = self.values is not None
        return [facts_of(n, one, merged=merged) for n, one in enumerate(self.named, 1)]


def facts_of(number: int, suspect: Suspect, *, merged: bool) -> FindingFacts:
    """A finding as JSON has it, with its number; of merged ranks also where it stands in them."""
    lines = source_lines(*suspect.stacks)
    keys = [field for field in FindingFacts.__struct_fields__ if hasattr(suspect, field)]
    own = {key: getattr(suspect, key) for key in keys if merged or key not in OF_MERGED_RANKS}
    own["certainty"] = certainty_facts(suspect.certainty)
    return FindingFacts(
        number=number,
        source=lines[0] if lines else None,
        called_from=lines[1] if len(lines) > 1 else None,
        source_benchmark=suspect.line_there,
        **own,
    )


def diagnose(path: Path | str, top: int | None = None) -> Diagnosis:
    """Read the findings of a result database, at most `top` of them.

    All of them without `top`; of a folder, those of the newest result. Raises DatabaseError when
    the file is missing, was cut short, or is no result database of this tool and version.
    """
    path = result_file(Path(path))
    if not path.is_file():
        raise DatabaseError(f"{path}: no such file", "`msprobe graph_visualize` makes one")
    if format_of(path) == "msprobe":
        raise DatabaseError(
            f"{path}: written by msprobe's own builder, which names no findings",
            "compare the dumps with `msprobe graph_visualize`",
        )
    try:
        with closing(connect(path)) as connection:
            return _read(path, connection, top)
    except sqlite3.Error as error:
        if ran_too_long(error):
            raise DatabaseError(
                f"{path}: a question to it took too long on this machine",
                "try again when less else is running",
            ) from None
        raise DatabaseError(
            f"{path}: is damaged ({error})", "build it again with `msprobe graph_visualize`"
        ) from None


def _read(path: Path, connection: sqlite3.Connection, top: int | None) -> Diagnosis:
    connection.row_factory = sqlite3.Row
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    graphs = connection.execute("SELECT * FROM graph ORDER BY step, rank, side").fetchall()
    problem = [g for g in graphs if g["side"] == "problem" and g["status"] == "ok"]
    benchmark = [g for g in graphs if g["side"] == "benchmark" and g["status"] == "ok"]
    summary = decode(meta.get("summary"))
    worst = [g["worst"] for g in problem if g["worst"] is not None]
    findings = _findings(connection, top)
    if any(one.divergent is None for one in findings):
        findings = _counted(path, findings)
    lost = _lost(path, graphs)
    threshold = float(parse_json(meta.get("options", "{}")).get("threshold", THRESHOLD))
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
        ]
        + lost,
        summary=[sentence(reason) for reason in summary],
        notes=tuple(summary),
        findings=findings,
        worst=max(worst, default=None),
        values=parse_json(meta["values"]) if "values" in meta else None,
        comparable=not any(isinstance(reason, NothingComparable) for reason in summary),
        evidence=stored_evidence(meta.get("evidence")),
        kind=next(iter(decode(meta.get("kind"))), None),
        state=_state(graphs, lost),
        extent=extent_of(connection, summary) if max(worst, default=1.0) <= threshold else None,
    )


def _sent(fact: object) -> object:
    """Facts with numbers that are not finite as texts, for JSON has none."""
    if isinstance(fact, dict):
        return {key: _sent(one) for key, one in fact.items()}
    if isinstance(fact, list | tuple):
        return [_sent(one) for one in fact]
    return measure_of(fact) if isinstance(fact, float) else fact


def _kind_facts(kind: Reason) -> dict[str, object]:
    """Which kind of pair the runs are, as JSON has it: its facts, and the sentence."""
    return {**msgspec.to_builtins(kind), "sentence": sentence(kind)}


def _lost(path: Path, graphs: list[sqlite3.Row]) -> list[dict[str, int | str]]:
    """The pairs whose volume is not there; their findings are known, their nodes are not."""
    volumes = Volumes(path)
    lost: dict[tuple[int, int], str] = {}
    for graph in graphs if volumes.listed else ():
        volume = volumes.of(graph["id"])
        told = None if volume is None or graph["status"] != "ok" else volume.missing
        if told is not None:
            lost[graph["step"], graph["rank"]] = told
    return [{"step": step, "rank": rank, "error": told} for (step, rank), told in lost.items()]


def _state(graphs: list[sqlite3.Row], lost: list[dict[str, int | str]]) -> FileState:
    def places(status: str) -> dict[tuple[int, int], None]:
        # A pair may have a row on either side, or on both.
        return dict.fromkeys((g["step"], g["rank"]) for g in graphs if g["status"] == status)

    gone = {(int(each["step"]), int(each["rank"])): None for each in lost}
    compared = [g for g in graphs if g["status"] == "ok"]
    return FileState(
        failed={**places("failed"), **gone},
        missing=places("missing"),
        unmatched=sum(g["nodes"] - g["matched"] for g in compared),
        divergent=sum(g["divergent"] for g in compared),
        scored=any(g["worst"] is not None for g in compared),
    )


_FINDINGS = """
    SELECT finding.*, graph.step, graph.rank, graph.side, node.name,
           node.kind AS node_kind, node.direction, node.exec_order, stack.text AS stack_text,
           parent.name AS parent_name, parent.kind AS parent_kind, other.text AS stack_there
    FROM finding
    JOIN node ON node.id = finding.node
    JOIN graph ON graph.id = finding.graph
    LEFT JOIN node AS parent ON parent.id = node.parent
    LEFT JOIN stack ON stack.id = node.stack
    LEFT JOIN node AS partner ON partner.id = node.match
    LEFT JOIN stack AS other ON other.id = partner.stack
    ORDER BY finding.id LIMIT ?
"""


def _findings(connection: sqlite3.Connection, top: int | None) -> list[Suspect]:
    rows = connection.execute(_FINDINGS, (-1 if top is None else top,))
    return [_beside_replaced(connection, row, _suspect(row)) for row in rows]


_STACK_OF_BENCHMARK = """
    SELECT stack.text FROM node
    JOIN graph ON graph.id = node.graph
    JOIN stack ON stack.id = node.stack
    WHERE graph.side = 'benchmark' AND graph.step = ? AND graph.rank = ? AND node.name = ?
"""


def _beside_replaced(connection: sqlite3.Connection, row: sqlite3.Row, suspect: Suspect) -> Suspect:
    """A finding with the stack of the call that the benchmark makes in place of its own."""
    name = replaced_by(decode(row["reasons"]))
    if name is None or suspect.stack is None or suspect.stack_there is not None:
        return suspect
    place = (suspect.step, suspect.rank, name)
    found = connection.execute(_STACK_OF_BENCHMARK, place).fetchone()
    return suspect if found is None else replace(suspect, stack_there=found[0])


def _counted(path: Path, findings: list[Suspect]) -> list[Suspect]:
    """Findings of a file whose build did not count how far each reaches; counted now."""
    # Only earlier releases left that out: whoever reads another file needs no SQLAlchemy.
    from sqlalchemy.exc import SQLAlchemyError

    from builder.results.database import ResultDatabase
    from builder.results.followers.spread import spreads

    try:
        with closing(ResultDatabase(path)) as results:
            found = spreads(results)
    except (sqlite3.Error, SQLAlchemyError, DatabaseError):
        return findings  # no volume there, cells that are none, or longer than a reader may wait
    return [
        replace(one, propagated_to=of.certain, perhaps=of.perhaps, divergent=of.divergent)
        if (of := found.get(number)) is not None
        else one
        for number, one in enumerate(findings, 1)
    ]


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
        reasons=sentences(decode(row["reasons"])),
        propagated_to=row["propagated_to"],
        perhaps=row["perhaps"] if "perhaps" in row.keys() else None,
        divergent=row["divergent"] if "divergent" in row.keys() else None,
        kind=row["kind"],
        side=row["side"],
        inside=row["parent_name"] if row["parent_kind"] == "module" else None,
        stack=row["stack_text"],
        stack_there=row["stack_there"] if row["stack_text"] else None,
        places=_places(row["places"] if "places" in row.keys() else None),
        path=_path(row["name"]),
        node_id=row["node"],
        certainty=certainty_in(row["certainty"] if "certainty" in row.keys() else None),
        **_place(decode(row["reasons"])),
    )


class _Place(TypedDict, total=False):
    apart: float
    explained: float
    heals: bool
    ranks: tuple[int, ...]
    coordinates: str
    axis: str
    check: str
    origin: str


_CHECKS: dict[type[Fact], str] = {
    ReplicaDiffers: "replica",
    Misplaced: "order",
    GradientsScaled: "scale",
    OtherAxis: "group",
    RanksConflict: "ranks",
    PartialUsed: "partial used",
    UpdateAlone: "update",
    OptimizerDiffers: "update",
}


def _place(reasons: list[Reason]) -> _Place:
    """Where a finding of merged ranks lies and how far it is off, as its reasons have it."""
    place: _Place = {}
    for reason in reversed(reasons):
        if isinstance(reason, Explained):
            place["apart"] = reason.apart
            place["explained"] = reason.explained
        if isinstance(reason, Heals):
            place["heals"] = True
        if isinstance(reason, RankedFact):
            place["ranks"] = tuple(map(int, reason.ranks.split(", ")))
            place["coordinates"] = reason.coordinates
        if isinstance(reason, AxisFact):
            place["axis"] = reason.axis
        if isinstance(reason, OnRanks) and reason.origin:
            place["origin"] = reason.origin
        check = _CHECKS.get(type(reason))
        if check is not None:
            place["check"] = check
    return place


def _path(name: str) -> str:
    """The module path of a node, or its name where it is no module."""
    try:
        entry = parse_entry(name)
    except NameSyntaxError:
        return name
    return entry.path or entry.type_name


def _places(text: str | None) -> list[dict[str, int | str]]:
    try:
        listed = parse_json(text) if text else []
        return [{"step": p["step"], "rank": p["rank"], "node": p["name"]} for p in listed]
    except (ValueError, TypeError, KeyError):
        return []  # a file may come from anywhere
