"""Says in which module a node stands, as people write it: `layers.3.self_attn`."""

from __future__ import annotations

from collections.abc import Sequence

from builder.results.reading import ReadsNodes
from builder.results.records import Node
from msprobe_core.format import EntryName, NameSyntaxError, parse_entry

OPTIMIZER = "optimizer"


def module_path(name: str) -> str | None:
    """The attribute path of a module's entry; None for what is no module.

    >>> module_path("Module.layers.3.self_attn.Attention.forward.0")
    'layers.3.self_attn'
    """
    entry = entry_of(name)
    return None if entry is None or entry.kind == "api" else entry.path or entry.type_name


def telling_end(path: str) -> str:
    """The end of a path that tells what it is of, for a bare number tells nothing.

    >>> telling_end("network.up.2"), telling_end("layers.0.mlp"), telling_end("2")
    ('up.2', 'mlp', '2')
    """
    parts = path.split(".")
    words = [place for place, part in enumerate(parts) if not part.isdigit()]
    return ".".join(parts[words[-1] :] if words else parts)


def spoken_module(path: str, name: str) -> str:
    """A module as people speak of it, where a node of this name is that module.

    A bare number has its class beside it, and what is not its first call has the call's number.

    >>> spoken_module("0", "Module.0.Conv2d.forward.0")
    '0 (Conv2d)'
    >>> spoken_module("rnn", "Module.rnn.LSTM.forward.1")
    'rnn #1'
    """
    entry = entry_of(name)
    if entry is None or module_path(name) != path or "parameters_grad" in name:
        return path
    told = f"{path} ({entry.type_name})" if path.replace(".", "").isdigit() else path
    return f"{told} #{entry.call}" if entry.call else told


def call_number(name: str) -> int | None:
    """Which call of its function or module a node is, from 0."""
    entry = entry_of(name)
    return entry.call if entry is not None else None


def entry_of(name: str) -> EntryName | None:
    """A name taken apart; None where it is outside the grammar."""
    try:
        return parse_entry(name)
    except NameSyntaxError:
        return None


def modules_of(database: ReadsNodes, nodes: Sequence[Node]) -> dict[int, str]:
    """The module that each node is, or stands in; left out at the top level.

    What the optimizer did stands in `OPTIMIZER`.
    """
    known: dict[int, Node] = {node.id: node for node in nodes}
    wanted = {n.parent for n in nodes if n.parent is not None and module_path(n.name) is None}
    while missing := {id_ for id_ in wanted if id_ not in known}:
        parents = database.nodes_by_id(sorted(missing))
        known |= {node.id: node for node in parents}
        wanted = {n.parent for n in parents if n.parent is not None and module_path(n.name) is None}
    paths = {node.id: _nearest(node, known) for node in nodes}
    return {id_: path for id_, path in paths.items() if path is not None}


def shared_modules_of(database: ReadsNodes, nodes: Sequence[Node]) -> dict[int, str]:
    """As `modules_of`; what stands in a benchmark's module that has a partner goes by its name.

    Both runs' rows are shown under the problem's names, so a place has that name, too.
    """
    modules = modules_of(database, nodes)
    inside = {n.id: n.parent for n in nodes if n.side == "benchmark" and n.parent is not None}
    around = {n.id: n.match for n in database.nodes_by_id(sorted(set(inside.values())))}
    partners = database.nodes_by_id(sorted({id_ for id_ in around.values() if id_ is not None}))
    paths = {partner.id: module_path(partner.name) for partner in partners}
    for node, parent in inside.items():
        partner = around.get(parent)
        path = paths.get(partner) if partner is not None else None
        if path is not None and node in modules:
            modules[node] = path
    return modules


def _nearest(node: Node, known: dict[int, Node]) -> str | None:
    above: Node | None = node
    # A parent has the smaller id in our files, and a tree was made of msprobe's; so this ends.
    while above is not None:
        path = module_path(above.name)
        if path is not None:
            return path
        if above.name.split(".", 1)[0].lower() == OPTIMIZER:
            return OPTIMIZER
        above = known.get(above.parent) if above.parent is not None else None
    return None
