"""Says whether a finding is proven, by the comparison in which the problem run took its values."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from builder.results.confirmation import finding_of, opened
from builder.results.database import ResultDatabase
from builder.results.schema import node as nodes


@dataclass(frozen=True, slots=True)
class Proof:
    """Of `behind` nodes that the finding explained, `agree` agree now; `remain` differ at all.

    `next_finding` is where what remains begins.
    """

    node: str
    behind: int
    agree: int
    remain: int
    next_finding: str | None

    @property
    def is_proven(self) -> bool:
        """Whether all behind the finding agrees."""
        return self.behind > 0 and self.agree == self.behind


def prove(before: Path, after: Path, number: int) -> Proof:
    """Hold the second comparison against the first; raises InputError for another result."""
    with closing(opened(before)) as first, closing(opened(after)) as second:
        finding = finding_of(first, number)
        place = finding.step, finding.rank
        behind = _explained(first, finding.node.id)
        differing = _differing(second, *place)
        left = second.findings(*place).findings
        return Proof(
            node=finding.node.name,
            behind=len(behind),
            agree=len(behind - differing),
            remain=len(differing),
            next_finding=left[0].node.name if left else None,
        )


def _explained(database: ResultDatabase, finding: int) -> set[str]:
    """Names of the nodes in the finding's own step and rank that are laid to it."""
    query = select(nodes.c.name).where(nodes.c.source == finding, nodes.c.id != finding)
    with database.stored.engine_at(finding).connect() as connection:
        return set(connection.scalars(query))


def _differing(database: ResultDatabase, step: int, rank: int) -> set[str]:
    graph = database.pair(step, rank).problem
    if graph is None:
        return set()
    query = select(nodes.c.name).where(
        nodes.c.graph == graph.id, nodes.c.score > database.threshold
    )
    with database.stored.engine_at(graph.root.id).connect() as connection:
        return set(connection.scalars(query))
