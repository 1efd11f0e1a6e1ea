"""The node that a question is about, by its name or its id."""

from __future__ import annotations

from builder.results.named_nodes import node_named
from builder.results.reading import Results
from builder.results.records import Node
from msprobe.answers.arguments import OfNode
from msprobe.answers.result_folder import ResultFolder
from tb_graph_ascend.logdirs import ResultFile


def asked_node(folder: ResultFolder, asked: OfNode) -> tuple[ResultFile, Results, Node]:
    """A node with its result file, which is open; raises UnknownNodeError."""
    file = folder.result(asked.result)
    results = folder.open(file)
    given = asked.node
    if isinstance(given, str) and not given.isdecimal():
        return file, results, results.node(node_named(file.path, given, asked.step, asked.rank))
    return file, results, results.node(int(given))
