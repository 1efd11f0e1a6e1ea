"""What a result file says of its runs, and its findings, whoever wrote it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from builder import diagnose
from builder.claim import Claim
from builder.dump.stack_frames import source_lines
from builder.reasons import do_heal, sentences
from builder.results.finding_facts import FindingFacts, certainty_facts
from builder.results.opening import format_of
from builder.results.reading import ReadsNodes, Results
from builder.results.records import Finding
from tb_graph_ascend.logdirs import ResultFile
from tb_graph_ascend.view.answer import answer


class ListedFinding(FindingFacts, frozen=True, kw_only=True):
    """A finding as `msprobe diagnose --json` has it, with the id of its node in this file.

    Both runs may have a node of one name.
    """

    node_id: int


class Known(msgspec.Struct, frozen=True):
    """The claim of a file, why it names no beginning (None where it does), and its findings."""

    claim: Claim
    refusal: str | None
    findings: list[ListedFinding]


def known_of(file: ResultFile, results: Results) -> Known:
    """What a file says; of msprobe's own builder, what the page makes of its precision index."""
    if format_of(file.path) == "msprobe":
        said = answer(results)
        causes = [
            (cause.finding, cause.stack or (), cause.stack_there or ()) for cause in said.causes
        ]
        listed = [_of_page(results, n, *cause) for n, cause in enumerate(causes, 1)]
        return Known(said.claim, None, listed)
    known = diagnose(file.path)
    listed = [
        ListedFinding(node_id=suspect.node_id, **msgspec.structs.asdict(facts))
        for suspect, facts in zip(known.named, known.facts(), strict=True)
    ]
    return Known(known.claim, known.refusal, listed)


def _of_page(
    results: ReadsNodes,
    number: int,
    finding: Finding,
    stack: Sequence[str],
    there: Sequence[str],
) -> ListedFinding:
    node, lines = finding.node, source_lines(stack, there)
    return ListedFinding(
        number=number,
        step=finding.step,
        rank=finding.rank,
        node=node.name,
        node_id=node.id,
        type="api" if node.kind == "api" else "module",
        direction=node.direction or "forward",
        side=node.side,
        kind=finding.kind,
        inside=module_around(results, node.id),
        order=node.order,
        score=finding.score,
        input_score=finding.input_score,
        introduced=finding.introduced,
        apart=None,
        explained=None,
        heals=do_heal(finding.reasons),
        reasons=sentences(finding.reasons),
        certainty=certainty_facts(finding.certainty),
        source=lines[0] if lines else None,
        called_from=lines[1] if len(lines) > 1 else None,
        propagated_to=finding.propagated_to,
        perhaps=finding.perhaps,
        divergent=finding.divergent,
        places=[{"step": p.step, "rank": p.rank, "node": p.name} for p in finding.places],
    )


def module_around(results: ReadsNodes, node: int) -> str | None:
    """The innermost module around a node; None at the top level."""
    above = results.path(node).path[:-1]
    return next((one.name for one in reversed(above) if one.kind == "module"), None)
