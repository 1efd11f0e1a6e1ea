"""Where NaN, infinity or saturation begins in a dump, as the JSON that users of msprobe know.

Each rank's first cause, in the earliest step that has any; a rank whose collective put out what
another rank sent is that rank's victim.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from builder.claim import Claim, Counted, Evidence, claim
from builder.compare.statistics import element_count
from builder.diagnosis.communication import link, messages
from builder.dump.json_files import read_json
from builder.dump.reader import dump_file, read_dump, read_stacks
from builder.dump.sources import find_sources
from builder.dump.stack_frames import place_lines
from builder.errors import BuilderError, OutputError
from builder.judge.overflow import (
    CauseKind,
    dirty_inputs,
    first_cause,
    has_values,
    nonfinite_values,
)
from builder.match.tree import Tree, TreeNode, build_tree
from builder.run.executor import LocalProcesses
from builder.work.outcome import PairOutcome, whole_evidence
from builder.work.plan import PairPlan, plan_single
from msprobe_core.format import STACK_FILE
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.whole_file import written_whole

# Nodes of all ranks have numbers of their own: this many for each rank.
_NODES_OF_A_RANK = 1 << 32
_STATISTICS = ("Max", "Min", "Mean", "Norm")
_TOKENS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


@dataclass(frozen=True, slots=True)
class FoundCause:
    """A cause by its node's number, with what the report shows of it."""

    step: int
    rank: int
    kind: CauseKind
    name: str
    value: str
    state: str
    order: tuple[int, int]
    node: int
    shown: Mapping[str, Any]

    @property
    def inside(self) -> str | None:
        """The module around the node; None where it stands in none."""
        return next(iter(self.shown["construct_info"][:-1][::-1]), None)

    @property
    def lines(self) -> list[str]:
        """The line of source it was called from, and the user's own where that is another."""
        return place_lines(self.shown["stack_info"])


@dataclass(frozen=True, slots=True)
class CheckedRank(PairOutcome):
    """One rank of one step: its first cause, and the collectives that were given NaN or infinity.

    `has_values` tells whether there was anything to look at.
    """

    cause: FoundCause | None = None
    dirty: frozenset[int] = frozenset()
    has_values: bool = False


@dataclass(frozen=True, slots=True)
class OverflowResult:
    """The causes in order, the earliest first; the file is None where there are none."""

    file: Path | None
    causes: tuple[FoundCause, ...]
    ranks: tuple[CheckedRank, ...]

    @property
    def failed(self) -> tuple[CheckedRank, ...]:
        """The ranks that could not be read."""
        return tuple(rank for rank in self.ranks if rank.error is not None)

    @property
    def looked_at(self) -> bool:
        """Whether any rank had statistics."""
        return any(rank.has_values for rank in self.ranks)

    @property
    def claim(self) -> Claim:
        """What may be said of the dump: a rank that could not be read may hold anything."""
        return claim(whole_evidence(self.ranks, ()), len(self.causes))


def check_overflow(
    dump: Path,
    output: Path,
    workers: int | None = None,
) -> OverflowResult:
    """Look at a rank, a step or a whole dump; writes `anomaly_analyze_<time>.json` if need be.

    Raises DumpError when there is no dump and OutputError when nothing can be written.
    """
    plan = plan_single(find_sources(dump))
    lost = [CheckedRank(b.pair.step, b.pair.rank, error=b.error) for b in plan.broken]
    checked = lost + LocalProcesses(workers).run(plan.pairs, _Check(), _unreported)
    ranks = sorted(checked, key=lambda r: (r.step, r.rank))
    causes = _first_causes(ranks)
    file = _write(output, causes) if causes else None
    return OverflowResult(file, tuple(causes), tuple(ranks))


def _unreported(_: PairOutcome) -> None:
    """A rank takes less time than a line about it to be read."""


class _Check:
    """Looks at one rank of one step; travels to the process that does it."""

    def attempt(self, plan: PairPlan, cores: int) -> CheckedRank:
        """Find a rank's first cause; what goes wrong is an outcome too."""
        try:
            return _check(plan)
        except BuilderError as error:
            return CheckedRank(plan.step, plan.rank, error=str(error))
        except Exception as error:  # one rank's defect must not take the others with it
            text = f"{plan.problem}: {type(error).__name__}: {error}; please report this"
            return CheckedRank(plan.step, plan.rank, error=text)

    def lost(self, plan: PairPlan, cause: str) -> CheckedRank:
        """The outcome of a rank whose process ended without one."""
        return CheckedRank(plan.step, plan.rank, error=f"{plan.problem}: worker {cause}")


def _check(plan: PairPlan) -> CheckedRank:
    tree = build_tree(read_dump(plan.problem))
    base = plan.rank * _NODES_OF_A_RANK

    def id_of(node: TreeNode) -> int:
        return base + node.exec_order

    spoken = tuple(messages(tree, id_of))
    dirty = {m.node for m in spoken if dirty_inputs(tree, tree.in_order[m.node - base])}
    cause = first_cause(tree)
    reported = None
    if cause is not None:
        reported = FoundCause(
            step=plan.step,
            rank=plan.rank,
            kind=cause.kind,
            name=cause.node.name,
            value=cause.value,
            state=cause.state,
            order=cause.node.in_step,
            node=id_of(cause.node),
            shown=_shown(tree, cause.node),
        )
    return CheckedRank(
        plan.step,
        plan.rank,
        messages=(spoken,),
        cause=reported,
        dirty=frozenset(dirty),
        has_values=has_values(tree),
        evidence=_looked_at(tree),
    )


def _looked_at(tree: Tree) -> Evidence:
    """How many values have statistics that would show NaN or infinity, and which have none."""
    dump = tree.dump
    seen = sum(record.Max is not None for record in dump.values.records)
    owner = {i: node.name for node in tree.in_order for i in range(*node.values)}
    silent = [
        f"{owner.get(i, '')}.{dump.values.keys[i]}"
        for i, record in enumerate(dump.values.records)
        if record.dtype is not None and record.Max is None and element_count(record.shape)
        if not (record.unwritten or record.fused)
    ]
    gaps = (
        Counted("no_statistics", len(silent), silent[0] if silent else ""),
        # Where no cause is found, all of them are.
        Counted("on_purpose", nonfinite_values(tree)),
    )
    return Evidence((Counted("looked_at", seen),) if seen else ()).with_gaps(*gaps)


def _shown(tree: Tree, node: TreeNode) -> dict[str, Any]:
    above: list[str] = []
    place: TreeNode | None = node
    while place is not None and place.kind != "root":
        above.insert(0, place.name)
        place = place.parent
    folder = tree.dump.path
    stacks = read_stacks(folder / STACK_FILE)
    forward = node.forward.name if node.forward is not None else ""
    return {
        "op_name": node.name,
        "data_info": _recorded(dump_file(folder)[1], node.name),
        "construct_info": above,
        "stack_info": stacks.get(node.name) or stacks.get(forward, []),
    }


class _Raw(msgspec.Struct):
    data: dict[str, msgspec.Raw]


_raw_decoder = msgspec.json.Decoder(_Raw)


def _recorded(file: Path, name: str) -> object:
    raw = read_json(file, _raw_decoder).data.get(name)
    return _with_numbers(parse_json(bytes(raw))) if raw is not None else {}


def _with_numbers(content: object) -> object:
    """A recorded entry with the non-finite statistics that reading had to quote."""
    if isinstance(content, dict):
        return {
            key: _TOKENS.get(item, item)
            if key in _STATISTICS and isinstance(item, str)
            else _with_numbers(item)
            for key, item in content.items()
        }
    return [_with_numbers(item) for item in content] if isinstance(content, list) else content


def _first_causes(ranks: Sequence[CheckedRank]) -> list[FoundCause]:
    for step in sorted({rank.step for rank in ranks}):
        own = {rank.rank: rank for rank in ranks if rank.step == step}
        causes = [rank.cause for rank in own.values() if rank.cause is not None]
        if not causes:
            continue
        senders = _senders(own)
        kept = [cause for cause in causes if not _is_victim(cause, senders)]
        # Where the ranks that sent it were not dumped, the collective is the best that is known.
        return sorted(kept or causes, key=lambda cause: (cause.order, cause.rank))
    return []


def _senders(ranks: Mapping[int, CheckedRank]) -> dict[int, set[int]]:
    """The ranks that gave NaN or infinity to a collective, by its node on every rank."""
    links, _ = link({rank: own.messages[0] for rank, own in ranks.items() if own.messages})
    dirty = frozenset().union(*(own.dirty for own in ranks.values()))
    senders: dict[int, set[int]] = {}
    for each in links:
        if each.peer_node in dirty:
            senders.setdefault(each.node, set()).add(each.peer_rank)
    return senders


def _is_victim(cause: FoundCause, senders: Mapping[int, set[int]]) -> bool:
    return cause.kind == "collective" and bool(senders.get(cause.node))


def _write(output: Path, causes: Sequence[FoundCause]) -> Path:
    by_rank: dict[str, list[dict[str, Any]]] = {}
    for cause in causes:
        said = {"step": cause.step, "cause": cause.kind, "value": cause.value, "state": cause.state}
        by_rank.setdefault(f"rank_{cause.rank}", []).append({**cause.shown, **said})
    path = output / f"anomaly_analyze_{time.time_ns()}.json"
    try:
        output.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as beside:
            text = json.dumps(by_rank, indent=2, ensure_ascii=False)
            beside.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror})", "choose another -o"
        ) from error
    return path
