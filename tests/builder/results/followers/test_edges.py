"""What is in a module that is fed otherwise goes back to it, and so does what follows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.results.followers.spread import divergent_nodes, shares_of
from builder.results.followers.step import step_followers
from builder.results.followers.told_way import told_way
from builder.results.open_results import open_results
from tests.builder.dumps import Json, forward, tensor, write_dump

FIRST, SECOND = "Torch.relu.0.forward", "Torch.exp.0.forward"
UP, INNER = "Module.up.Up.forward.0", "Module.up.block.Block.forward.0"
READS, SILENT = "Functional.interpolate.0.forward", "Torch.cat.0.forward"
CONV, AFTER, LATER = "Functional.conv2d.0.forward", "Torch.add.0.forward", "Torch.mul.0.forward"


def fed(side: str, *, reads: bool, silent: bool) -> Json:
    """A module that is fed the first call's output by one run and the second's by the other."""
    given = 3.0 if side == "problem" else 5.0
    resized = given * 11 if reads else given
    joined = resized * 13 if silent else resized
    data = {
        FIRST: forward([tensor(1)], [tensor(3)]),
        SECOND: forward([tensor(3)], [tensor(5)]),
        READS: forward([tensor(given)], [tensor(resized)]),
        SILENT: forward([], []),
        CONV: forward([tensor(joined)], [tensor(joined * 17)]),
        INNER: forward([tensor(joined)], [tensor(joined * 17)]),
        UP: forward([tensor(given), tensor(5)], [tensor(joined * 17)]),
        AFTER: forward([tensor(joined * 17)], [tensor(joined * 19)]),
        LATER: forward([tensor(joined * 19)], [tensor(joined * 23)]),
    }
    left_out = {READS: reads, SILENT: silent}
    return {name: entry for name, entry in data.items() if left_out.get(name, True)}


ABOVE = {READS: UP, SILENT: UP, INNER: UP, CONV: INNER}


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("silent", [True, False])
def test_what_is_in_a_module_that_is_fed_otherwise_goes_back_to_it(
    tmp_path: Path, reads: bool, silent: bool
) -> None:
    for side in ("problem", "benchmark"):
        data = fed(side, reads=reads, silent=silent)
        above = {name: ABOVE.get(name) for name in data}
        write_dump(tmp_path / side / "step0" / "rank0", data, above)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    file = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE node SET source = NULL")  # the flow alone is to lead back
        connection.execute(
            "UPDATE finding SET node = "
            "(SELECT id FROM node WHERE name = ? AND match IS NOT NULL ORDER BY id LIMIT 1)",
            (UP,),
        )
        connection.commit()
    opened = open_results(file)
    index = step_followers(opened, 0, 0)
    (finding,) = opened.findings().findings
    assert (finding.node.name, finding.node.side) == (UP, "problem")
    share = shares_of(index)
    assert share.others == 0
    surely = {opened.node(node).name for node in divergent_nodes(index, [finding.node.id]).tolist()}
    perhaps = {opened.node(n).name for n in divergent_nodes(index, None, perhaps=True).tolist()}
    hidden = {CONV, INNER} if silent else set()
    assert (surely & hidden, perhaps) == (set(), hidden)
    assert {UP, AFTER, LATER} <= surely
    first = next(
        name for name in (READS, CONV) if name in fed("problem", reads=reads, silent=False)
    )
    for name, link in ((first, "fed"), (AFTER, "input")):
        if name in perhaps:
            continue
        node = next(n for n in index.rows.key.tolist()[1:] if opened.node(n).name == name)
        way = told_way(opened, lambda *at: step_followers(opened, *at), node)
        last = way.hops[-1]
        assert (way.finding, last.name, last.link) == (finding.id, UP, link)
        assert last.value == "input.0"
        assert last.output == ("input.0" if link == "fed" else "output.0")
    opened.close()


CLIP, SCALED, STEPS = "Torch.clamp.0.forward", "Torch.mul.5.forward", "Tensor.addcdiv_.0.forward"


@pytest.mark.parametrize("before", [True, False])
def test_what_a_call_of_one_run_alone_may_have_rewritten_goes_back_to_it_perhaps(
    tmp_path: Path, before: bool
) -> None:
    for side, read in (("problem", 3.0), ("benchmark", 8.0)):
        alone = {CLIP: forward([tensor(20)], [tensor(21)])} if side == "benchmark" else {}
        update = {STEPS: forward([tensor(read)], [tensor(2 * read)])}
        data = {
            READS: forward([tensor(1)], [tensor(3.0)]),
            **((alone | update) if before else (update | alone)),
        }
        write_dump(tmp_path / side / "step0" / "rank0", data, dict.fromkeys(data))
    sides = tmp_path / "problem", tmp_path / "benchmark"
    file = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE node SET source = NULL")
        connection.execute("DELETE FROM finding WHERE id > 1")
        connection.execute(
            "UPDATE finding SET places = '[]', node = (SELECT id FROM node WHERE name = ?)", (CLIP,)
        )
        connection.commit()
    opened = open_results(file)
    here = step_followers(opened, 0, 0)
    perhaps = divergent_nodes(here, None, perhaps=True).tolist()
    assert [opened.node(node).name for node in perhaps] == ([STEPS] if before else [])
    assert shares_of(here).divergent == 1
    opened.close()
