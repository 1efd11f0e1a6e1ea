"""A cause found before pairs were made by hand stands where they left it, and says where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from builder.reasons import InPlaceOf
from builder.results.database import ResultDatabase
from builder.results.followers.standing import is_touched
from tests.tb_graph_ascend.conftest import Site
from tests.tb_graph_ascend.view.ports import port

OURS = "Module.layers.0.ffn.MLP.forward.0"
THEIRS = "Module.layers.0.mlp.MLP.forward.0"


@pytest.fixture
def partly(samples: Path, tmp_path: Path, site_of: Callable[..., Site]) -> Site:
    """One MLP has another name; in the other one call is too many, which is found as it is."""
    names = [("Module.layers.0.mlp.", "Module.layers.0.ffn.")]
    dump = port(samples / "statistics" / "problem", tmp_path / "port", names)
    return site_of(str(dump), "statistics/bench")


def test_a_cause_that_a_pair_does_not_touch_stands_with_all_that_is_told_of_it(
    partly: Site,
) -> None:
    before = partly.get("/answer")
    (cause,) = before["causes"]
    assert (before["since"], cause["touched"], cause["module"]) == (None, False, "layers.1.mlp")
    ours, theirs = partly.named(OURS), partly.named(THEIRS, "benchmark")
    pair = {"problem": ours["id"], "benchmark": theirs["id"], "descendants": True}
    partly.send("POST", "/mappings", pair)
    after = partly.get("/answer")
    assert after["causes"] == before["causes"]
    assert after["since"]["node"]["id"] == cause["finding"]["node"]["id"]
    assert after["since"]["stack"] == cause["stack"]
    model_line = "y = y * 1.7"
    assert model_line in "".join(cause["stack"])
    assert model_line in partly.client.get(f"/api/databases/{partly.db}/export/slide.svg").text
    top = partly.get("/pairs/0/0/rows", limit=1)["rows"][0]
    rows = partly.get("/pairs/0/0/rows", open=f"{top['key']}a", limit=500)["rows"]
    begins = [row for row in rows if row["word"] == "begins" and row["kind"] == "api"]
    assert [row["problem"]["id"] for row in begins] == [cause["finding"]["node"]["id"]]


def test_a_cause_is_touched_by_a_pair_of_its_call_or_of_one_that_its_reasons_name(
    partly: Site,
) -> None:
    (finding,) = ResultDatabase(partly.file).findings().findings
    assert not is_touched(finding, {OURS, "Tensor.__mul__.1.forward"})
    assert is_touched(finding, {finding.node.name})
    named = msgspec.structs.replace(finding, reasons=[InPlaceOf(f"Tensor.add.0.forward, {OURS}")])
    assert is_touched(named, {OURS})
    assert not is_touched(named, {"Tensor.add.1.forward"})
