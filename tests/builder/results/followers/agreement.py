"""Whether page, command and file count and lead back alike: `python -m …agreement FILE…`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from builder.results.followers.named_causes import nodes_of
from builder.results.followers.spread import Spread, divergent_nodes, shares_of
from builder.results.followers.told_way import told_way
from builder.results.open_results import open_results
from builder.results.reading import Results
from builder.results.records import Finding
from builder.results.report import Suspect, diagnose
from tb_graph_ascend.view.diff.index import DiffIndex, diff_index
from tb_graph_ascend.view.explained_way import explained_way

_ASKED = 2  # divergent nodes of a step and rank of which the way is asked, which opens the file


def contradictions(path: Path) -> list[str]:
    """Where the command says another number, or another way, than the page."""
    with closing(open_results(path)) as results:
        suspects = diagnose(path).named
        findings = results.findings().findings if suspects else []
        pages = {
            (pair.step, pair.rank): diff_index(results, pair.step, pair.rank)
            for pair in results.summary().pairs
            if pair.status == "ok"
        }
        found = [
            said
            for finding, suspect in zip(findings, suspects, strict=True)
            for said in _of_finding(pages, finding, suspect, alone=len(findings) == 1)
        ]
        return found + list(_of_ways(path, results, pages))


def _of_finding(
    pages: dict[tuple[int, int], DiffIndex], finding: Finding, suspect: Suspect, *, alone: bool
) -> Iterator[str]:
    """What the command counts of a finding, and the sum of what the page does over its places.

    Of one that is `alone` in its file the page adds what came through weights of steps behind it.
    """
    shown, own = Spread(0, 0, 0), 0
    places = {(finding.step, finding.rank), *((p.step, p.rank) for p in finding.places)}
    for step, rank in places:
        here = pages[step, rank].followers
        shares, nodes = shares_of(here), set(nodes_of(finding, step, rank))
        listed = divergent_nodes(here, sorted(nodes)).tolist()
        for one in (share for share in shares.causes if share.node in nodes):
            shown += Spread(one.count, one.perhaps, 0)
        through = shares.earlier if alone and finding.step < step else 0
        guessed = bool(finding.perhaps)
        shown += Spread(0 if guessed else through, through if guessed else 0, shares.divergent)
        own += int(
            here.states.divergent[here.rows.rows_of(np.array(sorted(nodes), dtype=np.int64))].sum()
        )
        if len(listed) != sum(s.count for s in shares.causes if s.node in nodes):
            yield f"{suspect.node}: the list of step {step} has {len(listed)} nodes"
    told = suspect.propagated_to, suspect.perhaps, suspect.divergent
    stored = finding.propagated_to, finding.perhaps, finding.divergent
    page = shown.certain, shown.perhaps, shown.divergent
    if not told == stored == page:
        yield f"{suspect.node}: the command says {told}, the file {stored}, the page {page}"
    if own and not shown.certain:
        yield f"{suspect.node}: diverges itself, and nothing goes back to it"


def _of_ways(
    path: Path, results: Results, pages: dict[tuple[int, int], DiffIndex]
) -> Iterator[str]:
    """Nodes of which the command tells another way than the page."""
    for (step, rank), page in pages.items():
        here = page.followers
        divergent = here.rows.key[here.states.divergent].tolist()
        for node in divergent[:: max(len(divergent) // _ASKED, 1)][:_ASKED]:
            shown = told_way(results, lambda *at: pages[at].followers, node)
            name = results.node(node).name
            told = explained_way(path, name, step, rank)
            if told.hops[0].node == node and told != shown:
                yield f"{name}: two ways in step {step}, rank {rank}"


if __name__ == "__main__":
    wrong = {name: contradictions(Path(name)) for name in sys.argv[1:]}
    for name, said in wrong.items():
        print(*(f"{name}: {one}" for one in said), sep="\n", end="\n" if said else "")
    print(f"{len(wrong)} files, {sum(map(bool, wrong.values()))} that contradict themselves")
