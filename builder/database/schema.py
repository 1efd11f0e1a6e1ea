"""Tables of the result database, one place for every column name.

Node ids are given in pre-order inside a graph, so the subtree of a node is the range `id … last`.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text

SCHEMA_VERSION = "1"

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
"""schema_version, tool_version, created (ISO 8601), task, options (JSON), problem, benchmark
(dump paths as given), summary (JSON: what was said once about the whole comparison)."""

graph = Table(
    "graph",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("step", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("side", Text, nullable=False),  # problem | benchmark; a single graph is problem
    Column("root", Integer),  # node id; null unless status is ok
    Column("framework", Text),
    Column("level", Text),
    Column("dump_dir", Text),  # the folder that was read, absolute
    Column("precision", Text),  # the floating dtype of most values
    Column("micro_steps", Integer, nullable=False, default=1),
    Column("status", Text, nullable=False),  # ok | failed | missing
    Column("error", Text),
    Column("nodes", Integer, nullable=False, default=0),
    Column("matched", Integer, nullable=False, default=0),
    Column("divergent", Integer, nullable=False, default=0),
    Column("worst", Float),  # highest score of any node
)

node = Table(
    "node",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("graph", Integer, ForeignKey("graph.id"), nullable=False),
    Column("parent", Integer),
    Column("position", Integer, nullable=False),  # among its siblings, from 0
    Column("exec_order", Integer, nullable=False),  # order of completion in the dump
    Column("depth", Integer, nullable=False),
    Column("last", Integer, nullable=False),  # id of the last node below, or its own
    Column("children", Integer, nullable=False),
    Column("name", Text, nullable=False),  # the entry's name in the dump
    Column("label", Text, nullable=False),  # what a box shows
    Column("kind", Text, nullable=False),  # root | module | api | collection
    Column("direction", Text),  # forward | backward; null at the root and at collections
    Column("block", Integer),  # repeated blocks passed in its pass; sets the tolerance
    Column("recomputed", Integer, nullable=False, default=0),
    Column("micro_step", Integer, nullable=False, default=0),
    Column("stack", Integer),
    Column("match", Integer),  # partner's node id
    Column("match_reason", Text),  # why matched, or why not
    Column("score", Float),
    Column("input_score", Float),
    Column("introduced", Float),
    Column("verdict", Text),  # pass | warning | error
    Column("overflow", Text),  # medium | high | critical
    Column("worst_below", Float),
    Column("divergent_below", Integer, nullable=False, default=0),
    Column("source", Integer),  # the node that `diagnose` names as this one's cause
    Column("reasons", Text),  # JSON list of {"code": …, …}; null when empty
)

value = Table(
    "value",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("node", Integer, nullable=False),
    Column("role", Text, nullable=False),  # input | output | parameters | parameters_grad
    Column("path", Text, nullable=False),  # position or keyword, nested by dots
    Column("type", Text, nullable=False),
    Column("dtype", Text),
    Column("shape", Text),  # "4,8,16"; "" is 0-d; null where there is no shape
    Column("max", Float),  # NaN is stored as the text 'nan': SQLite would make it null
    Column("min", Float),
    Column("mean", Float),
    Column("norm", Float),
    Column("requires_grad", Integer),
    Column("checksum", Text),
    Column("file", Text),
    Column("scalar", Text),  # JSON of a non-tensor argument
    # of the pair; on the problem side only
    Column("partner", Integer),  # value id on the other side; null = surplus
    Column("error", Float),  # relative error e
    Column("score", Float),
    Column("cosine", Float),
    Column("euc_dist", Float),
    Column("max_abs_err", Float),
    Column("max_rel_err", Float),
    Column("one_thousandth", Float),
    Column("five_thousandths", Float),
)

stack = Table(
    "stack",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("text", Text, nullable=False, unique=False),  # frames joined by newline, innermost first
)

communication = Table(
    "communication",
    metadata,
    Column("node", Integer, nullable=False),
    Column("peer_rank", Integer, nullable=False),
    Column("peer_node", Integer),  # null: the partner is missing
    Column("kind", Text, nullable=False),
)

finding = Table(
    "finding",
    metadata,
    Column("id", Integer, primary_key=True),  # 1 = look here first, over all graphs
    Column("graph", Integer, nullable=False),
    Column("node", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("score", Float),
    Column("input_score", Float),
    Column("introduced", Float),
    Column("reasons", Text, nullable=False),  # JSON list of {"code": …, …}
    Column("propagated_to", Integer, nullable=False),
)

INDEXES = (
    Index("node_children", node.c.parent, node.c.position),
    Index("node_graph", node.c.graph, node.c.exec_order),
    Index("node_source", node.c.source, sqlite_where=node.c.source.isnot(None)),
    Index("value_node", value.c.node),
    Index("communication_node", communication.c.node),
)
"""Created after the rows are in."""
