"""The tables of the result database: every column name and type in one place.

Plain data, so that writing a database needs no more than the standard library. Node ids are given
in pre-order inside a graph, so the subtree of a node is the range `id … last`.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_VERSION = "1"


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as `name type` lines, the way CREATE TABLE wants them."""

    name: str
    lines: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(line.split()[0] for line in self.lines)

    @property
    def ddl(self) -> str:
        """The CREATE TABLE statement."""
        body = ", ".join(f'"{name}" {rest}' for name, _, rest in self._split())
        return f'CREATE TABLE "{self.name}" ({body})'

    def _split(self) -> list[tuple[str, str, str]]:
        return [line.partition(" ") for line in self.lines]


# schema_version, tool_version, created (ISO 8601), task, options (JSON), problem and benchmark
# (dump paths as given), summary (JSON: what was said once about the whole comparison).
META = TableSpec("meta", ("key TEXT PRIMARY KEY", "value TEXT NOT NULL"))

GRAPH = TableSpec(
    "graph",
    (
        "id INTEGER PRIMARY KEY",
        "step INTEGER NOT NULL",
        "rank INTEGER NOT NULL",
        "side TEXT NOT NULL",  # problem | benchmark; a single graph is problem
        "root INTEGER",  # node id; null unless status is ok
        "framework TEXT",
        "level TEXT",
        "dump_dir TEXT",  # the folder that was read, absolute
        "precision TEXT",  # the floating dtype of most values
        "micro_steps INTEGER NOT NULL DEFAULT 1",
        "status TEXT NOT NULL",  # ok | failed | missing
        "error TEXT",
        "nodes INTEGER NOT NULL DEFAULT 0",
        "matched INTEGER NOT NULL DEFAULT 0",
        "divergent INTEGER NOT NULL DEFAULT 0",
        "worst REAL",  # highest score of any node
        # Where the first node above the threshold completes, as a share of all; null without one.
        "begins REAL",
    ),
)

NODE = TableSpec(
    "node",
    (
        "id INTEGER PRIMARY KEY",
        "graph INTEGER NOT NULL",
        "parent INTEGER",
        "position INTEGER NOT NULL",  # among its siblings, from 0
        "exec_order INTEGER NOT NULL",  # order of completion in the dump
        "depth INTEGER NOT NULL",
        "last INTEGER NOT NULL",  # id of the last node below, or its own
        "children INTEGER NOT NULL",
        "name TEXT NOT NULL",  # the entry's name in the dump
        "label TEXT NOT NULL",  # what a box shows
        "kind TEXT NOT NULL",  # root | module | api | collection
        "direction TEXT",  # forward | backward; null at the root and at collections
        "block INTEGER",  # repeated blocks passed in its pass; sets the tolerance
        "recomputed INTEGER NOT NULL DEFAULT 0",
        "micro_step INTEGER NOT NULL DEFAULT 0",
        "stack INTEGER",
        "match INTEGER",  # partner's node id
        "match_reason TEXT",  # why matched, or why not
        "score REAL",
        "input_score REAL",
        "introduced REAL",
        "verdict TEXT",  # pass | warning | error
        "overflow TEXT",  # medium | high | critical
        "worst_below REAL",
        "divergent_below INTEGER NOT NULL DEFAULT 0",
        "first_value INTEGER NOT NULL DEFAULT 0",
        "value_count INTEGER NOT NULL DEFAULT 0",
        "source INTEGER",  # the node that `diagnose` names as this one's cause
        "reasons TEXT",  # JSON list of {"code": …, …}; null when empty
    ),
)

# What a value is: few forms serve all values of a graph.
FORM = TableSpec(
    "form",
    (
        "id INTEGER PRIMARY KEY",
        "role TEXT NOT NULL",  # input | output | parameters | parameters_grad
        "path TEXT NOT NULL",  # position or keyword, nested by dots
        "type TEXT NOT NULL",
        "dtype TEXT",
        "shape TEXT",  # "4,8,16"; "" is 0-d; null where there is no shape
        "requires_grad INTEGER",
        "scalar TEXT",  # JSON of a non-tensor argument
    ),
)

# The numbers of one value; the records of a node are first_value … first_value + value_count - 1.
RECORD = TableSpec(
    "record",
    (
        "id INTEGER PRIMARY KEY",
        "form INTEGER NOT NULL",
        "max REAL",  # NaN is stored as the text 'nan': SQLite would make it null
        "min REAL",
        "mean REAL",
        "norm REAL",
        "checksum TEXT",
        "file TEXT",
        # of the pair; on the problem side only
        "partner INTEGER",  # record id on the other side; null = surplus
        "error REAL",  # relative error e
        "score REAL",
        "cosine REAL",
        "euc_dist REAL",
        "max_abs_err REAL",
        "max_rel_err REAL",
        "one_thousandth REAL",
        "five_thousandths REAL",
        "sketch BLOB",  # of the value itself, on both sides: the bytes behind the dump's digits
        "unwritten INTEGER",  # 1: memory that nobody had written when it was recorded
        "nan_count INTEGER",  # elements that are NaN; null where there are none
        "inf_count INTEGER",  # elements that are infinite; null where there are none
        "let_pass TEXT",  # rounding | inputs | moved: what explains an error above the tolerance
    ),
)

STACK = TableSpec("stack", ("id INTEGER PRIMARY KEY", "text TEXT NOT NULL"))

COMMUNICATION = TableSpec(
    "communication",
    (
        "node INTEGER NOT NULL",
        "peer_rank INTEGER NOT NULL",
        "peer_node INTEGER",  # null: the partner is missing
        "kind TEXT NOT NULL",
    ),
)

FINDING = TableSpec(
    "finding",
    (
        "id INTEGER PRIMARY KEY",  # 1 = look here first, over all graphs
        "graph INTEGER NOT NULL",
        "node INTEGER NOT NULL",
        "kind TEXT NOT NULL",
        "score REAL",
        "input_score REAL",
        "introduced REAL",
        "reasons TEXT NOT NULL",  # JSON list of {"code": …, …}
        "propagated_to INTEGER NOT NULL",  # divergent nodes that go back to it, over all its places
        "places TEXT",  # JSON list of the same cause elsewhere: step, rank, node (its id), name
        "perhaps INTEGER",  # those that do so by a guess alone; null where nobody counted
        "divergent INTEGER",  # all that diverge in the steps and ranks of its places
        "certainty TEXT",  # JSON: word, basis, behind; builder.finding_certainty
        "line_alone INTEGER",  # 1: the other run has the function that calls it, not that line
    ),
)

# Which output fed which input, one row a value that was read. Files of earlier releases lack it.
FLOW = TableSpec(
    "flow",
    (
        "value INTEGER PRIMARY KEY",  # the record that was read
        "consumer INTEGER NOT NULL",  # the node that read it
        "producer INTEGER NOT NULL",  # the node that put it out
        "output INTEGER",  # the record that was put out; null where the node alone is known
        "exact INTEGER NOT NULL",  # 1 where the dump says so, 0 where equal values tell it
    ),
)

# What flowed through calls that left no values, by nodes. Files of earlier releases lack it.
PASSAGE = TableSpec(
    "passage",
    (
        "consumer INTEGER NOT NULL",
        "producer INTEGER NOT NULL",
        "told INTEGER NOT NULL",  # 2: the dump says so, 1: numbers tell it, 0: shape and order
        "instead INTEGER",  # whose edge to the same consumer this one makes needless
        "value INTEGER",  # the record that the consumer read; null where it has left none
    ),
)

# How a value that was joined lies over the ranks, one row a side and axis, innermost axis first.
LAYOUT = TableSpec(
    "layout",
    (
        "value INTEGER NOT NULL",  # record id, of either side
        "axis TEXT NOT NULL",  # tp | cp | dp | micro
        "size INTEGER NOT NULL",
        "kind TEXT NOT NULL",  # R repeated, S cut, P a part of a sum, A of a mean, D a duplicate
        "dim INTEGER",  # of a cut
        "trust TEXT NOT NULL",  # exact | told | bounded | assumed
    ),
)

# What each rank holds of a joined value; of values that differ, whose replicas differ, or whose
# node has a finding. Others are in the dump.
SHARD = TableSpec(
    "shard",
    (
        "value INTEGER NOT NULL",  # record id, of either side
        "rank INTEGER NOT NULL",
        "place TEXT NOT NULL",  # JSON: its place on each axis of the value
        "entry TEXT NOT NULL",  # the node's name on this rank
        "shape TEXT",  # as in form
        "max REAL",  # NaN as in record
        "min REAL",
        "mean REAL",
        "norm REAL",
        "checksum TEXT",
        "file TEXT",  # of the tensor, below dump_dir
        "dump_dir TEXT NOT NULL",
        "guilty INTEGER NOT NULL",  # 1: a difference comes from this rank
    ),
)

# Which parameters of two programs of one model are one tensor.
WEIGHT = TableSpec(
    "weight",
    (
        "graph INTEGER NOT NULL",  # the problem's
        "node INTEGER NOT NULL",  # of the problem, that the first of its parameters stands in
        "problem TEXT NOT NULL",  # JSON list of paths, in the order in which they are joined
        "benchmark TEXT NOT NULL",
        "relation TEXT NOT NULL",  # same | reshaped | joined | split | scaled | differs
        "by_hand INTEGER NOT NULL",  # 1 where a person has paired them
    ),
)

# The cells of the lines over tokens of one graph: tokens that both runs computed, by request and
# position, a cell for each or for some behind one another.
TOKEN_CELL = TableSpec(
    "token_cell",
    (
        "graph INTEGER NOT NULL",  # the problem's
        "cell INTEGER NOT NULL",  # from 0
        "request INTEGER NOT NULL",  # of its first token
        "position INTEGER NOT NULL",
        "last_request INTEGER NOT NULL",
        "last_position INTEGER NOT NULL",
        "tokens INTEGER NOT NULL",
    ),
)

# A byte of `scores` is the worst score of a cell, WORST_SCORE for 1; NO_SCORE: it has no numbers.
WORST_SCORE, NO_SCORE = 254, 255

# How far apart a value is at each token.
TOKEN_LINE = TableSpec(
    "token_line",
    (
        "value INTEGER PRIMARY KEY",  # the problem's record
        "node INTEGER NOT NULL",
        "graph INTEGER NOT NULL",
        "scores BLOB NOT NULL",  # a byte a cell
        "request INTEGER",  # the first token that is apart, in the order in which it was computed
        "position INTEGER",  # null where none is
        "apart INTEGER NOT NULL",  # tokens that are
        "tokens INTEGER NOT NULL",  # of so many with numbers
    ),
)

TABLES = (
    META,
    GRAPH,
    NODE,
    FORM,
    RECORD,
    STACK,
    COMMUNICATION,
    FINDING,
    FLOW,
    PASSAGE,
    LAYOUT,
    SHARD,
    WEIGHT,
    TOKEN_CELL,
    TOKEN_LINE,
)

# Of an index alone: the files beside it that have the nodes and values of its graphs.
VOLUME = TableSpec(
    "volume",
    (
        "first INTEGER PRIMARY KEY",  # the least id of any row in it; the next one's is above all
        "plan TEXT NOT NULL",
        "unit TEXT NOT NULL",
        "file TEXT NOT NULL",  # its name in the folder beside the index
    ),
)

# Whose ids a column holds: what is added to them where the rows of one file go into another.
IDS: dict[str, dict[str, str]] = {
    "graph": {"id": "graph", "root": "node"},
    "node": {
        **dict.fromkeys(("id", "parent", "last", "match", "source"), "node"),
        **{name: name for name in ("graph", "stack")},
        "first_value": "record",
    },
    "form": {"id": "form"},
    "record": {"id": "record", "form": "form", "partner": "record"},
    "stack": {"id": "stack"},
    "flow": {"value": "record", "consumer": "node", "producer": "node", "output": "record"},
    "passage": {
        **dict.fromkeys(("consumer", "producer", "instead"), "node"),
        "value": "record",
    },
    "layout": {"value": "record"},
    "shard": {"value": "record"},
    "weight": {"graph": "graph", "node": "node"},
    "token_cell": {"graph": "graph"},
    "token_line": {"value": "record", "node": "node", "graph": "graph"},
}

# What files of this version may lack because they are older; readers find it empty there.
LATER_TABLES = (FLOW, PASSAGE, LAYOUT, SHARD, WEIGHT, TOKEN_CELL, TOKEN_LINE)
LATER: dict[str, tuple[str, ...]] = {
    "record": ("sketch", "unwritten", "nan_count", "inf_count", "let_pass"),
    "finding": ("places", "perhaps", "divergent", "certainty", "line_alone"),
    "graph": ("begins",),
}

# A value as one row with everything: its node, its form, its numbers.
VALUE_COLUMNS = (
    ("id", "record"),
    *((name, "form") for name in FORM.columns if name != "id"),
    *((name, "record") for name in RECORD.columns if name not in ("id", "form")),
)
VIEW = (
    "CREATE VIEW value AS SELECT node.id AS node, "
    + ", ".join(f"{table}.{name} AS {name}" for name, table in VALUE_COLUMNS)
    + " FROM node JOIN record ON record.id BETWEEN node.first_value"
    " AND node.first_value + node.value_count - 1 JOIN form ON form.id = record.form"
)

# Created after the rows are in.
INDEXES = (
    "CREATE INDEX node_children ON node (parent, position)",
    "CREATE INDEX node_graph ON node (graph, exec_order)",
    "CREATE INDEX node_source ON node (source) WHERE source IS NOT NULL",
    "CREATE INDEX communication_node ON communication (node)",
    "CREATE INDEX flow_consumer ON flow (consumer)",
    "CREATE INDEX flow_producer ON flow (producer)",
    "CREATE INDEX passage_consumer ON passage (consumer)",
    "CREATE INDEX layout_value ON layout (value)",
    "CREATE INDEX shard_value ON shard (value)",
    "CREATE INDEX weight_graph ON weight (graph)",
    "CREATE INDEX token_cell_graph ON token_cell (graph, cell)",
    "CREATE INDEX token_line_node ON token_line (node)",
)
