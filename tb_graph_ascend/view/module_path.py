"""Says in which module a node stands, as people write it: `layers.3.self_attn`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def spoken_module(module: str, name: str) -> str:
    """A module as people speak of it, by the name of its entry and of a node that it is, or holds.

    A number tells nothing, so one has its class beside it; what is not the first call of a module
    itself has the call's number.

    >>> spoken_module("Module.encoder.3.Linear.forward.0", "Functional.linear.3.forward")
    'encoder.3 (Linear)'
    >>> spoken_module("Module.rnn.LSTM.forward.1", "Module.rnn.LSTM.forward.1")
    'rnn #1'
    """
    entry, path = entry_of(module), path_of(module)
    if entry is None or path is None:
        return module
    is_numbered = path.rpartition(".")[2].isdigit()
    told = f"{path} ({entry.type_name})" if is_numbered else path
    is_itself = module_path(name) == path and "parameters_grad" not in name
    call = call_number(name) if is_itself else None
    return f"{told} #{call}" if call else told


def path_of(module: str) -> str | None:
    """The path of a module by the name of its entry; what the optimizer does has its own name."""
    return OPTIMIZER if module == OPTIMIZER else module_path(module)


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
    return _paths(_entries_of(database, nodes))


def shared_modules_of(database: ReadsNodes, nodes: Sequence[Node]) -> dict[int, str]:
    """As `modules_of`; what stands in a benchmark's module that has a partner goes by its name.

    Both runs' rows are shown under the problem's names, so a place has that name, too.
    """
    return _paths(shared_entries_of(database, nodes))


def shared_entries_of(database: ReadsNodes, nodes: Sequence[Node]) -> dict[int, str]:
    """The names of the entries of the modules that `shared_modules_of` has the paths of."""
    entries = _entries_of(database, nodes)
    inside = {n.id: n.parent for n in nodes if n.side == "benchmark" and n.parent is not None}
    around = {n.id: n.match for n in database.nodes_by_id(sorted(set(inside.values())))}
    partners = database.nodes_by_id(sorted({id_ for id_ in around.values() if id_ is not None}))
    names = {partner.id: partner.name for partner in partners if module_path(partner.name)}
    for node, parent in inside.items():
        partner = around.get(parent)
        name = names.get(partner) if partner is not None else None
        if name is not None and node in entries:
            entries[node] = name
    return entries


def _paths(entries: Mapping[int, str]) -> dict[int, str]:
    paths = {id_: path_of(name) for id_, name in entries.items()}
    return {id_: path for id_, path in paths.items() if path is not None}


def _entries_of(database: ReadsNodes, nodes: Sequence[Node]) -> dict[int, str]:
    known: dict[int, Node] = {node.id: node for node in nodes}
    wanted = {n.parent for n in nodes if n.parent is not None and module_path(n.name) is None}
    while missing := {id_ for id_ in wanted if id_ not in known}:
        parents = database.nodes_by_id(sorted(missing))
        known |= {node.id: node for node in parents}
        wanted = {n.parent for n in parents if n.parent is not None and module_path(n.name) is None}
    names = {node.id: _nearest(node, known) for node in nodes}
    return {id_: name for id_, name in names.items() if name is not None}


def _nearest(node: Node, known: dict[int, Node]) -> str | None:
    """The name of the nearest module's entry."""
    above: Node | None = node
    # A parent has the smaller id in our files, and a tree was made of msprobe's; so this ends.
    while above is not None:
        if module_path(above.name) is not None:
            return above.name
        if above.name.split(".", 1)[0].lower() == OPTIMIZER:
            return OPTIMIZER
        above = known.get(above.parent) if above.parent is not None else None
    return None
