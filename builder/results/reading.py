"""What can be asked of a result file, whoever wrote it: ours and msprobe's own answer alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from builder.results.equal_numbers import Carried
from builder.results.flow_cells import FlowIds, PassageIds
from builder.results.manual.patches import Patches
from builder.results.received import Received
from builder.results.records import (
    Across,
    Children,
    Findings,
    FirstOutput,
    HandedOn,
    Node,
    NodeDetails,
    NodeFlow,
    NodePath,
    PairGraphs,
    Summary,
    UnmadeInput,
)
from builder.results.side_nodes import SideNodes
from builder.results.trace import Trace


class ResultFile(Protocol):
    """A result file that is open for reading, and what is laid over it; ids are those of the file.

    What is asked for and not there raises UnknownNodeError; a file that turns out damaged raises
    DatabaseError or an error of SQLAlchemy.
    """

    file: Path
    patches: Patches


class ReadsPairs(ResultFile, Protocol):
    """What is said of the whole file, of its pairs, and where they begin to differ."""

    @property
    def comparison(self) -> bool:
        """Whether two runs are compared, not one drawn."""

    @property
    def threshold(self) -> float:
        """The score above which a value diverges."""

    def summary(self) -> Summary:
        """The whole file: every step and rank with its state, worst score and counts."""

    def pair(self, step: int, rank: int) -> PairGraphs:
        """The graphs of one step and rank."""

    def findings(self, step: int | None = None, rank: int | None = None) -> Findings:
        """Where the problem run begins to differ, best suspect first."""

    def beginnings(self, step: int, rank: int) -> dict[int, float | None]:
        """The nodes of a pair at which the file says that a difference begins, with their scores.

        None where the cause is told, and scored, at another step and rank.
        """

    def dump_folder(self, graph_id: int) -> Path | None:
        """The folder that a graph was made from, where the file says it."""


class ReadsNodes(ResultFile, Protocol):
    """Nodes: one or many, what stands above and below one, what belongs to it."""

    def node(self, id_: int) -> Node:
        """One node."""

    def nodes_by_id(self, ids: Iterable[int]) -> list[Node]:
        """The nodes with these ids in the order given; unknown ones are left out."""

    def names_by_id(self, ids: Iterable[int]) -> dict[int, str]:
        """The names of nodes alone, by their ids; unknown ones are left out."""

    def stacks_by_id(self, ids: Iterable[int]) -> dict[int, int]:
        """Numbers of the stacks of calls, by their ids; calls of one stack have one number."""

    def children(self, id_: int, offset: int, limit: int) -> Children:
        """A page of the nodes directly below one."""

    def path(self, id_: int) -> NodePath:
        """The nodes from the root to one."""

    def place_of(self, id_: int) -> tuple[int, int]:
        """The step and rank of a node."""

    def own_way(self, id_: int) -> Trace | None:
        """The way from a node back to its cause, if the file tells ways by itself."""

    def details(self, id_: int) -> NodeDetails:
        """A node with its partner, values, stacks and communication partners."""

    def across(self, id_: int) -> Across:
        """The same node in all steps and ranks."""


class ReadsValues(ResultFile, Protocol):
    """What nodes put out and hand on, as their rows and boxes show it."""

    def first_outputs(self, ids: Sequence[int]) -> dict[int, FirstOutput]:
        """What nodes put out first, by their ids; nothing for those without."""

    def seen(self, values: Sequence[int]) -> dict[int, FirstOutput]:
        """What values are, by their ids."""

    def without_values(self, ids: Sequence[int]) -> frozenset[int]:
        """Which of these nodes are calls of which nothing but the name was recorded."""

    def unmade_inputs(self, ids: Sequence[int]) -> Mapping[int, list[UnmadeInput]]:
        """The tensors that nodes read and no call is known to put out, by the nodes' ids."""

    def handed_on(self, ids: Sequence[int]) -> Mapping[int, HandedOn]:
        """What those of these nodes hand on that have no partner, by their ids."""


class ReadsFlow(ResultFile, Protocol):
    """The columns of a pair and what flowed in it: calls, weights, other ranks."""

    def side_nodes(self, step: int, rank: int) -> Sequence[SideNodes]:
        """All nodes of a pair as columns, problem first, as the file has them: without patches."""

    def flow(self, id_: int) -> NodeFlow:
        """What fed a node, and what it fed, as far as the file tells."""

    def flows(self, step: int, rank: int) -> Sequence[FlowIds]:
        """What fed what on each side of a pair, problem first."""

    def passages(self, step: int, rank: int) -> Sequence[PassageIds]:
        """What flowed through calls without values on each side of a pair, problem first."""

    def received(self, step: int, rank: int) -> Sequence[Received]:
        """By which calls a difference came into a step and rank from another rank."""

    def carried(self, step: int, rank: int) -> tuple[int | None, Sequence[Carried]]:
        """The step before, and who reads weights of it that differ, the worst first."""


class Results(ReadsPairs, ReadsNodes, ReadsValues, ReadsFlow, Protocol):
    """All that can be asked; what needs a part of it takes that part."""

    def close(self) -> None:
        """Let go of the file."""
