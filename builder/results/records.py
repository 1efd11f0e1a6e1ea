"""What the queries answer: one record per thing that a reader of a result database asks for.

They are the messages of the server as well, so a field renamed here is renamed in the interface.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from builder.claim import Evidence

# What the answers say is what the builder calls it; whoever reads answers finds the words here.
from builder.compare.forgiveness import LetPassBy as LetPassBy
from builder.finding_certainty import Certainty as Certainty
from builder.judge.verdict import Verdict as Verdict
from builder.match.tree import Kind as Kind
from builder.reasons import ErrorOf as ErrorOf
from builder.reasons import Reason as Reason
from builder.work.plan import Side as Side
from msprobe_core.format import Direction as Direction

Status: TypeAlias = Literal["ok", "failed", "missing"]
Task: TypeAlias = Literal["statistics", "tensor", "md5", "structure"]
Overflow: TypeAlias = Literal["medium", "high", "critical"]
Role: TypeAlias = Literal["input", "parameters", "parameters_grad", "output"]
# JSON has no NaN and no infinity: they travel as "nan", "inf" and "-inf".
Measure: TypeAlias = float | Literal["nan", "inf", "-inf"] | None
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
# Why something is refused: `code` chooses the sentence in the reader's language, the rest fills it.
Refusal: TypeAlias = Annotated[
    dict[str, str | float | bool | None],
    msgspec.Meta(
        extra_json_schema={"properties": {"code": {"type": "string"}}, "required": ["code"]}
    ),
]

ROLES: tuple[Role, ...] = ("input", "parameters", "parameters_grad", "output")


class Pair(msgspec.Struct, frozen=True):
    """One (step, rank): a cell of the matrix.

    `begins` is the share of the run before its first divergent node; null without one, and in files
    of earlier releases.
    """

    step: int
    rank: int
    status: Status
    error: str | None
    worst: float | None
    divergent: Count
    matched: Count
    unmatched_problem: Count
    unmatched_benchmark: Count
    begins: float | None = None


class FirstOutput(msgspec.Struct, frozen=True, gc=False):
    """What a node puts out first: its shape, dtype and L2 norm, as far as they were recorded."""

    shape: list[int] | None
    dtype: str | None
    norm: Measure


class UnmadeInput(msgspec.Struct, frozen=True, gc=False):
    """A tensor that a node reads as its input `path`, and that no call is known to put out.

    `value` is its id. It may have come through calls without values.
    """

    value: int
    path: str
    tensor: FirstOutput


class Summary(msgspec.Struct, frozen=True):
    """What a database says about itself as a whole.

    `evidence` is what was compared in its pairs, and what was not, `kind` which kind of pair the
    runs are; both null where nobody kept it.
    """

    task: Task
    comparison: bool
    tool_version: str
    created: str
    problem: str
    benchmark: str | None
    overflow_checked: bool
    summary: list[Reason]
    pairs: list[Pair]
    evidence: Evidence | None
    kind: Reason | None


class Node(msgspec.Struct, frozen=True, gc=False):
    """One box of a graph: `order` of completion, `position` among its siblings.

    `children` is their number, `match` the partner's id (null where it has none), `match_reason`
    how it was found or why there is none, `source` the node that the diagnosis names as the cause.
    """

    id: int
    graph: int
    side: Side
    parent: int | None
    position: int
    order: int
    depth: int
    children: Count
    name: str
    label: str
    kind: Kind
    direction: Direction | None
    recomputed: bool
    micro_step: int
    match: int | None
    match_reason: str | None
    score: float | None
    input_score: float | None
    introduced: float | None
    verdict: Verdict | None
    overflow: Overflow | None
    worst_below: float | None
    divergent_below: Count
    source: int | None
    reasons: list[Reason]


class Graph(msgspec.Struct, frozen=True):
    """One side of a pair."""

    id: int
    side: Side
    framework: str | None
    level: str | None
    dump_dir: str | None
    micro_steps: Count
    nodes: Count
    root: Node


class PairGraphs(msgspec.Struct, frozen=True):
    """Both graphs of a pair, or why there are none.

    Of a step and rank that is missing on one side `only` is the side that has it, and `folder`
    its dump there: the file holds nothing of it.
    """

    step: int
    rank: int
    status: Status
    error: str | None
    problem: Graph | None
    benchmark: Graph | None
    only: Side | None = None
    folder: str | None = None


class Children(msgspec.Struct, frozen=True):
    """A page of the children of one node, in their order."""

    parent: int
    total: Count
    offset: Count
    children: list[Node]


class NodePath(msgspec.Struct, frozen=True):
    """From the root down to a node."""

    path: list[Node]


class NodeList(msgspec.Struct, frozen=True):
    """A page of the nodes that a filter lets through."""

    total: Count
    offset: Count
    nodes: list[Node]


class Value(msgspec.Struct, frozen=True, gc=False):
    """One recorded value; `scalar` is the JSON text of an argument that is no tensor.

    `nan_count` and `inf_count` are how many elements are NaN or infinite; null where none is, or
    nobody counted.
    """

    id: int
    type: str
    dtype: str | None
    shape: list[int] | None
    max: Measure
    min: Measure
    mean: Measure
    norm: Measure
    requires_grad: bool | None
    checksum: str | None
    file: str | None
    scalar: str | None
    nan_count: Count | None = None
    inf_count: Count | None = None


class ValuePair(msgspec.Struct, frozen=True):
    """A value of both sides; a side is null where the value is surplus on the other.

    `path` is its position or keyword, nested by dots; `error` the relative error that the score
    uses; `measures` are named as users know them (`Max diff`, `Cosine`); `differs` is what differs
    besides the numbers (`dtype`, `shape`, `requires_grad`, `type`). `error_of` is null where the
    error is of none of these: a dtype, a checksum. `let_pass` says what explains an error above the
    tolerance: by `rounding` and `moved` tokens it scores 0 all the same; by `inputs`, which differ,
    it has its score, at most that of the worst of them, and begins nowhere.
    """

    role: Role
    path: str
    problem: Value | None
    benchmark: Value | None
    score: float | None
    error: Measure
    worst: bool
    measures: dict[str, Measure]
    differs: list[str]
    error_of: ErrorOf | None = None
    let_pass: LetPassBy | None = None


class Stacks(msgspec.Struct, frozen=True):
    """The call stacks of a node and its partner, innermost frame first as recorded."""

    problem: list[str] | None
    benchmark: list[str] | None


class CommunicationLink(msgspec.Struct, frozen=True):
    """A communication partner with its scores; `peer_node` is null when it is missing."""

    kind: str
    peer_rank: int
    peer_node: int | None
    peer_name: str | None
    peer_input_score: float | None = None
    peer_score: float | None = None


class HandedOn(msgspec.Struct, frozen=True, gc=False):
    """A value as a call of both runs reads it, by its id there, and its score.

    It is the worst of those that a call without a partner puts out.
    """

    value: int
    score: float


class NodeDetails(msgspec.Struct, frozen=True):
    """All that is known of one node.

    `values` are in the order input, parameters, parameters_grad, output, the worst first in each.
    `handed_on` is what a call that one run alone makes hands on to calls of both.
    """

    node: Node
    partner: Node | None
    values: list[ValuePair]
    stack: Stacks
    communication: list[CommunicationLink]
    handed_on: HandedOn | None = None


class FlowLink(msgspec.Struct, frozen=True):
    """A value that passed from one call to another; `exact` is false where equal values tell it.

    `node` is the other end; `path` is the place of the value among what its reader was given.
    """

    node: Node
    path: str
    value: int
    exact: bool


class Passed(msgspec.Struct, frozen=True, gc=False):
    """A value that passed from one call to another, by the keys under which both have it."""

    value: str
    output: str | None
    exact: bool


class NodeFlow(msgspec.Struct, frozen=True):
    """What fed a node, and what it fed, each in execution order."""

    producers: list[FlowLink]
    consumers: list[FlowLink]


class AcrossCell(msgspec.Struct, frozen=True):
    """A node in one step and rank; `node` is null where it does not occur.

    `handed_on` is the score of what a call without a partner, which has none, hands on.
    """

    step: int
    rank: int
    node: int | None
    score: float | None
    input_score: float | None
    verdict: Verdict | None
    overflow: Overflow | None
    handed_on: float | None = None


class Across(msgspec.Struct, frozen=True):
    """The same node in every step and rank, in their order."""

    name: str
    side: Side
    cells: list[AcrossCell]


class FindingPlace(msgspec.Struct, frozen=True):
    """Where else the cause of a finding showed: the same line of source, the same reason."""

    step: int
    rank: int
    node: int
    name: str


class Finding(msgspec.Struct, frozen=True):
    """A suspect of the diagnosis; `places` are the repeats of its cause, in their order.

    `certainty` says how sure it is; None in files of earlier releases and of msprobe. Of a call
    that one run alone makes, `line_alone` says that the other has the function, not the line.
    `propagated_to` divergent nodes go back to it and further ones `perhaps`, of all that are
    `divergent` in the steps and ranks of its places; null where the build did not count them.
    """

    id: int
    step: int
    rank: int
    kind: str
    node: Node
    score: float | None
    input_score: float | None
    introduced: float | None
    reasons: list[Reason]
    propagated_to: Count
    places: list[FindingPlace] = []
    perhaps: Count | None = None
    divergent: Count | None = None
    certainty: Certainty | None = None
    line_alone: bool = False


class Findings(msgspec.Struct, frozen=True):
    """Suspects, best first; a score above `threshold` counts as divergent."""

    findings: list[Finding]
    threshold: float
