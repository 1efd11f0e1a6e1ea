"""What its inputs explain differs as they do: one score of it everywhere, and it begins nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.results.followers.spread import divergent_nodes
from builder.results.open_results import open_results
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.diff.index import diff_index
from tb_graph_ascend.view.diff.window import Wanted, window_of
from tests.builder.dumps import Json, forward, tensor, write_dump
from tests.builder.tables.recorded import our_table

MADE, UPDATE = "Torch.mul.0.forward", "Tensor.addcdiv_.0.forward"


def side(folder: Path, moment: float, mean: float) -> Path:
    """A product that an optimizer divides by something that nearly vanishes."""
    divisor = tensor(2.0, Min=0.0, Max=1.5)
    data: dict[str, Json] = {
        MADE: forward([tensor(1.0)], [tensor(moment)]),
        UPDATE: forward([tensor(1.0), tensor(moment), divisor], [tensor(1.0, Mean=mean)]),
    }
    return write_dump(folder, data, dict.fromkeys(data))


@pytest.mark.parametrize(("moment", "by"), [(0.02, "inputs"), (0.01, "rounding")])
def test_a_value_that_its_inputs_explain_is_red_in_every_place(
    tmp_path: Path, moment: float, by: str
) -> None:
    ours, theirs = side(tmp_path / "p", moment, 0.126), side(tmp_path / "b", 0.01, 0.125)
    opened = open_results(builder.build(ours, theirs, tmp_path / "o", BuildOptions(workers=1)).path)
    index = diff_index(opened, 0, 0)
    update = next(n for n in index.rows.problem.id.tolist() if opened.node(n).name == UPDATE)
    (value,) = [v for v in opened.details(update).values if v.role == "output"]
    window = window_of(index, Wanted(), 0, 1, update)
    assert window.found is not None
    row = window_of(index, Wanted(window.opened), window.found, 1, None).rows[0]
    told = [opened.node(update).score, value.score, row.score]
    told += [cell.score for cell in opened.across(update).cells]
    assert value.let_pass == by and isinstance(value.error, float) and value.error > 1e-3
    assert told == [pytest.approx(value.score, abs=1e-6)] * 4
    differs = value.score is not None and value.score > opened.threshold
    assert differs is (by == "inputs") and row.word == ("carries" if differs else "agrees")
    causes = answer(opened).causes
    assert [cause.finding.node.name for cause in causes] == ([MADE] if differs else [])
    back = divergent_nodes(index.followers, [cause.finding.node.id for cause in causes]).tolist()
    assert (update in back) is differs
    rows = our_table(ours, theirs, tmp_path / "t")[1]
    (row_of_table,) = [one for one in rows if one["NPU Name"] == f"{UPDATE}.output.0"]
    assert "diverges here" not in str(row_of_table)
    opened.close()
