"""What every outlet says of a result, as files: text and JSON, report, page, slides, ways."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path

from builder.results.certainty import compared_pairs
from builder.results.database import ResultDatabase
from builder.results.followers.spread import divergent_nodes
from builder.results.records import Node
from msprobe.cli import main as command
from tb_graph_ascend.view.answer import Answer, answer
from tb_graph_ascend.view.diff.index import diff_index
from tb_graph_ascend.view.slide import slide

ALL = "100000"  # findings to list
SLIDES = 4  # causes that are drawn
_WAYS = 5  # nodes of a step and rank of which the way is asked


def write_outlets(result: Path, place: Path) -> None:
    """Ask every outlet for a result and write a file for each below `place`."""
    asked = ["diagnose", str(result)]
    (place / "told.txt").write_text(printed([*asked, "--top", ALL]), "utf-8")
    (place / "told.json").write_text(printed([*asked, "--json"]), "utf-8")
    printed([*asked, "--top", ALL, "--html", str(place / "report.html")])
    printed(["page", str(result), "-o", str(place / "page.html")])
    with closing(ResultDatabase(result)) as results:
        said = answer(results)
        _write_slides(results, said, place)
        ways = [
            {"node": node.id, "told": printed([*asked, "--explain", node.name, *at])}
            for node, at in _asked(results, said)
        ]
    (place / "ways.json").write_text(json.dumps(ways), "utf-8")


def printed(arguments: Sequence[str]) -> str:
    """What a command prints."""
    with redirect_stdout(io.StringIO()) as text:
        command(arguments)
    return text.getvalue()


def _write_slides(results: ResultDatabase, said: Answer, place: Path) -> None:
    """The pictures of the first causes in both languages; where there is none, one without."""
    for number, cause in enumerate(said.causes[:SLIDES] or [None]):
        for language in ("en", "zh"):
            drawn = slide(results, said, language=language, cause=cause)  # type: ignore[arg-type]
            (place / f"slide{number}.{language}.svg").write_text(drawn, "utf-8")


def _asked(results: ResultDatabase, said: Answer) -> Iterator[tuple[Node, list[str]]]:
    """Some nodes that go back to a cause, with the flags that say where they are."""
    nodes = [node for cause in said.causes for node in cause.nodes]
    for pair in compared_pairs(results):
        divergent = divergent_nodes(
            diff_index(results, pair.step, pair.rank).followers, nodes
        ).tolist()
        some = divergent[:: max(1, len(divergent) // _WAYS)][:_WAYS]
        for node in results.nodes_by_id(some):
            yield node, ["--step", str(pair.step), "--rank", str(pair.rank)]
