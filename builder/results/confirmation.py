"""Plans how a finding is proven: what is recorded of the benchmark, and what a call takes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from builder.errors import InputError
from builder.results.database import ResultDatabase
from builder.results.opening import format_of
from builder.results.reading import ReadsFlow, ReadsPairs
from builder.results.records import Finding, FindingPlace, Node
from builder.results.schema import node as nodes

Take = dict[str, str]


@dataclass(frozen=True, slots=True)
class ConfirmationPlan:
    """The finding and the configurations by the names of their files."""

    node: str
    step: int
    rank: int
    files: dict[str, dict[str, object]]


def plan_confirmation(path: Path, number: int, folder: Path) -> ConfirmationPlan:
    """Configurations that prove finding `number`, counted from 1; raises InputError without one.

    `folder` is where the runs are to write their dumps.
    """
    with closing(opened(path)) as database:
        finding = finding_of(database, number)
        takes = list(_takes(database, finding))
        if not takes:
            raise InputError(
                f"finding {number}: nothing in the problem run could take the benchmark's values",
                "look at it in the page, or confirm another one",
            )
        problem, benchmark = (sorted(names) for names in names_near(database, finding, takes))
        settings = recorded_as(database, finding.step, finding.rank)
        tensors = folder / "benchmark_tensors"
        graft = {"path": str(tensors), "take": takes, "step": finding.step}
        closer = {**settings, "task": "tensor"}
        files: dict[str, dict[str, object]] = {
            "closer_benchmark.json": {
                **closer,
                "dump_path": str(tensors),
                "tensor": {"list": benchmark},
            },
            "closer_problem.json": {
                **closer,
                "dump_path": str(folder / "problem_tensors"),
                "tensor": {"list": problem},
            },
            "graft.json": {**settings, "dump_path": str(folder / "grafted"), "graft": graft},
        }
        return ConfirmationPlan(finding.node.name, finding.step, finding.rank, files)


def opened(path: Path) -> ResultDatabase:
    """A result file of ours; raises InputError for one of msprobe's own builder."""
    if format_of(path) == "msprobe":
        raise InputError(
            f"{path}: a result of msprobe's own builder has no findings to confirm",
            "build it again with msprobe graph_visualize",
        )
    return ResultDatabase(path)


def finding_of(database: ReadsPairs, number: int) -> Finding:
    """The finding of that place in the list, from 1; raises InputError."""
    findings = database.findings().findings
    if not 1 <= number <= len(findings):
        raise InputError(f"there are {len(findings)} findings, not {number}", "give one of those")
    return findings[number - 1]


def _takes(database: ResultDatabase, finding: Finding) -> Iterator[Take]:
    """What the problem run takes, at each place of the cause in the finding's step and rank."""
    here = [place.node for place in finding.places if _is_here(place, finding)]
    for node in (finding.node, *database.nodes_by_id(here)):
        yield from _takes_at(database, finding, node)


def _is_here(place: FindingPlace, finding: Finding) -> bool:
    return (place.step, place.rank) == (finding.step, finding.rank)


def _takes_at(database: ResultDatabase, finding: Finding, node: Node) -> Iterator[Take]:
    partner = database.node(node.match) if node.match is not None else None
    if partner is None and node.side == "problem":
        other = _in_its_place(database, node)
        if other is None:
            yield {"at": node.name, "what": "through"}
        else:
            yield from _outcome(database, node, other)
    elif partner is None:
        yield from _where_it_would_go(database, node)
    elif finding.kind == "parameter_differs" and node.direction == "forward":
        yield from _parameters(database, node)
    elif finding.kind == "input_differs" and node.direction == "forward":
        yield {"at": node.name, "what": "input", "from": partner.name}
    else:
        yield from _outcome(database, node, partner)


def _in_its_place(database: ReadsFlow, node: Node) -> Node | None:
    """The call that the benchmark alone makes where the problem run makes this one.

    Both feed the same input of the same reader.
    """
    for link in database.flow(node.id).consumers:
        if link.node.match is None:
            continue
        for made in database.flow(link.node.match).producers:
            if made.path == link.path and made.node.match is None and made.node.kind == "api":
                return made.node
    return None


def _where_it_would_go(database: ResultDatabase, node: Node) -> Iterator[Take]:
    """The inputs of the calls that read what only the benchmark makes."""
    for link in database.flow(node.id).consumers:
        if link.node.match is not None and link.node.direction == "forward":
            at = database.node(link.node.match)
            yield {"at": at.name, "what": "input", "from": link.node.name}


def _parameters(database: ResultDatabase, node: Node) -> Iterator[Take]:
    for above in reversed(database.path(node.id).path):
        if above.kind == "module" and above.match is not None:
            partner = database.node(above.match)
            yield {"at": above.name, "what": "parameters", "from": partner.name}
            return


def _outcome(database: ResultDatabase, node: Node, partner: Node) -> Iterator[Take]:
    """What a call puts out, and what it hands on backwards where both runs have recorded it."""
    yield {"at": node.name, "what": "output", "from": partner.name}
    names = [backward_of(each.name) for each in (node, partner)]
    if node.direction != "forward" or None in names:
        return
    query = select(nodes.c.name).where(nodes.c.name.in_(names))
    with database.stored.engine_at(partner.id).connect() as connection:
        known = set(connection.scalars(query))
    if known == set(names):
        yield {"at": str(names[0]), "what": "output", "from": str(names[1])}


def backward_of(name: str) -> str | None:
    """The backward entry of a forward one.

    >>> backward_of("Module.a.B.forward.0"), backward_of("Torch.mm.1.forward")
    ('Module.a.B.backward.0', 'Torch.mm.1.backward')
    """
    head, direction, number = name.rpartition(".forward")
    return f"{head}.backward{number}" if direction else None


def names_near(
    database: ResultDatabase, finding: Finding, takes: Sequence[Take] = ()
) -> tuple[set[str], set[str]]:
    """Names on either side: what is taken, and what feeds the finding or reads it."""
    problem = {take["at"] for take in takes} | {finding.node.name}
    benchmark = {take.get("from", take["at"]) for take in takes}
    flow = database.flow(finding.node.id)
    for link in (*flow.producers, *flow.consumers):
        names = (problem, benchmark) if link.node.side == "problem" else (benchmark, problem)
        names[0].add(link.node.name)
        if link.node.match is not None:
            names[1].add(database.node(link.node.match).name)
    return problem, benchmark


def recorded_as(database: ResultDatabase, step: int, rank: int) -> dict[str, object]:
    """What the result tells of how the problem run was recorded there, as a configuration."""
    graph = database.pair(step, rank).problem
    alone = graph is None or not Path(graph.dump_dir or "").name.startswith("rank")
    return {
        "task": "tensor" if database.stored.meta.get("task") == "tensor" else "statistics",
        "level": graph.level if graph is not None and graph.level else "mix",
        "step": [step],
        "rank": [] if alone else [rank],
    }
