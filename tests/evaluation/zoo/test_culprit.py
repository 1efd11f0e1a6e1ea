"""Which entries count as having found a fault: neither too few nor too many."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.zoo.culprit import right_answers
from evaluation.zoo.fault import Place, backward, call, hook, module, owner, update

PARENTS = {
    "Tensor.__mul__.0.forward": "Module.a.A.forward.0",
    "Tensor.__mul__.1.forward": "Module.a.A.forward.0",
    "Torch.cat.0.forward": "Module.a.A.forward.0",
    "Module.a.A.forward.0": None,
    "Module.a.b.B.forward.0": "Module.a.A.forward.0",
    "Tensor.__mul__.0.backward": "Module.a.A.backward.0",
    "Module.a.A.backward.0": None,
    "Tensor.__mul__.2.forward": None,
    "optimizer": None,
    "Tensor.__mul__.3.forward": "optimizer",
}
WITHOUT_VALUES = {"Torch.cat.0.forward", "optimizer"}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    folder = tmp_path / "step0" / "proc1"
    folder.mkdir(parents=True)
    valued = {name: {} for name in PARENTS if name not in WITHOUT_VALUES}
    valued["Module.a.b.B.parameters_grad.0"] = {}
    (folder / "construct.json").write_text(json.dumps(PARENTS))
    (folder / "dump.json").write_text(json.dumps({"data": valued}))
    return tmp_path


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (call("a", "Tensor.__mul__"), {"Tensor.__mul__.0.forward", "Tensor.__mul__.1.forward"}),
        (call("a", "Tensor.__mul__", nth=1), {"Tensor.__mul__.1.forward"}),
        (call("", "Tensor.__mul__", nth=-1), {"Tensor.__mul__.2.forward"}),
        (backward(call("a", "Tensor.__mul__")), {"Tensor.__mul__.0.backward"}),
        # Not in dump.json, so the module around it counts as well.
        (call("a", "Torch.cat"), {"Torch.cat.0.forward", "Module.a.A.forward.0"}),
        (call("a", "Torch.stack"), {"Module.a.A.forward.0"}),
        (module("a"), {"Module.a.A.forward.0"}),
        (module("optimizer"), {"optimizer"}),
        (owner("a.b", "Functional.linear"), {"Module.a.b.B.forward.0"}),
        (call("a.b", "parameters_grad"), {"Module.a.b.B.parameters_grad.0"}),
        (update(), {"Tensor.__mul__.3.forward"}),
        (hook("Tensor.__mul__"), {"Tensor.__mul__.2.forward"}),
    ],
)
def test_names_of_a_place(
    dump: Path, tmp_path: Path, places: tuple[Place, ...], names: set[str]
) -> None:
    assert right_answers(places, dump, tmp_path / "no benchmark") == {(0, name) for name in names}
