"""Every fault is whole, its id is one that was published, and no tool can read the answer."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from faultbench import fault

# Others cite these: ids are added at the end, never renamed and never taken away.
PUBLISHED = """
    attention-scale-missing causal-mask-off-by-one labels-not-shifted weight-decay-on-norms
    rope-interleaved grouped-queries-repeat swiglu-gate-swapped rope-frequencies-bfloat16
    rmsnorm-weight-plus-one image-statistics-channel-order batchnorm-validates-in-training-mode
    kaiming-fan-in residual-added-after-activation padding-attended mean-pooling-counts-padding
    unmasked-tokens-in-loss upsample-aligned-corners padding-zeros-for-reflect
    groupnorm-one-group dice-overlap-not-doubled lstm-gate-order state-not-carried
    document-end-keeps-state reparameterisation-variance-for-deviation
    divergence-averaged-over-latents running-average-swapped warm-up-starts-at-zero
    temperature-not-exponentiated gelu-for-quick-gelu loss-of-one-direction
    sigmoid-before-logits-loss dropout-not-rescaled dropout-in-evaluation
    dropout-reseeded-each-step embedding-bag-sum adam-bias-correction-missing
    router-weights-not-normalised experts-outputs-unsorted balance-loss-over-shares
    clipped-before-unscaling square-overflows-half causal-padding-on-both-sides
    bins-through-bfloat16 bins-as-bytes quantisation-zero-point-missing
    quantisation-scale-per-tensor left-padding-positions window-off-by-one
    cached-position-one-behind mean-of-micro-batch-means gradients-not-cleared
    clipped-each-micro-batch swish-backward-formula straight-through-not-clipped
    norm-kernel-unbiased-variance linear-kernel-drops-tail gradients-summed-over-ranks
    gradient-not-reduced row-bias-on-every-rank entering-gradient-not-reduced
""".split()
MANY_NETWORKS = 12


def test_the_published_ids_are_the_lite_set() -> None:
    assert fault.ids("lite") == PUBLISHED
    assert sorted(path.name for path in fault.FAULTS.iterdir()) == sorted(PUBLISHED)


def test_the_quick_set_has_one_fault_a_layer() -> None:
    assert sorted(fault.load(one).layer for one in fault.ids("quick")) == sorted(fault.LAYERS)


@pytest.mark.parametrize("identifier", PUBLISHED)
def test_each_fault_is_whole(identifier: str) -> None:
    one = fault.load(identifier)
    assert one.licence == "Apache-2.0"
    assert 0 <= one.first_step < one.steps
    for script in one.scripts:
        tree = ast.parse((one.folder / script).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {"build", "step"} <= functions
        assert ast.get_docstring(tree)


@pytest.mark.parametrize("identifier", PUBLISHED)
def test_programs_need_torch_alone(identifier: str) -> None:
    one = fault.load(identifier)
    for script in one.scripts:
        tree = ast.parse((one.folder / script).read_text(encoding="utf-8"))
        imported = [n.names[0].name for n in ast.walk(tree) if isinstance(n, ast.Import)]
        taken = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        roots = {name.split(".")[0] for name in imported + taken}
        assert roots <= {"torch", "math", "copy"}


@pytest.mark.parametrize("identifier", PUBLISHED)
def test_tools_see_no_marker(identifier: str) -> None:
    one = fault.load(identifier)
    for script in one.scripts:
        text = (one.folder / script).read_text(encoding="utf-8")
        seen = fault.without_markers(text)
        assert "@answer" not in seen
        assert len(seen.splitlines()) == len(text.splitlines())
        assert ast.dump(ast.parse(seen)) == ast.dump(ast.parse(text))


def test_the_programs_are_of_many_networks() -> None:
    opened = {
        (fault.FAULTS / one / "right.py").read_text(encoding="utf-8").partition("\n")[0]
        for one in PUBLISHED
    }
    assert len(opened) >= MANY_NETWORKS


def test_a_wrong_layer_is_an_error_that_names_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(fault.FAULTS / "padding-attended", tmp_path / "padding-attended")
    path = tmp_path / "padding-attended" / "fault.toml"
    path.write_text(path.read_text().replace('layer = "data"', 'layer = "dates"'))
    monkeypatch.setattr(fault, "FAULTS", tmp_path)
    with pytest.raises(fault.FaultError, match="layer is 'dates'; allowed are data, activations"):
        fault.load("padding-attended")


def test_a_marker_that_stands_nowhere_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(fault.FAULTS / "padding-attended", tmp_path / "padding-attended")
    path = tmp_path / "padding-attended" / "fault.toml"
    path.write_text(path.read_text().replace('marker = "answer"', 'marker = "answers"'))
    monkeypatch.setattr(fault, "FAULTS", tmp_path)
    with pytest.raises(fault.FaultError, match="no answer has a marker"):
        fault.load("padding-attended")


def test_a_fault_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(fault.FaultError, match=r"no such fault; `python -m faultbench list`"):
        fault.load("no-such-fault")
