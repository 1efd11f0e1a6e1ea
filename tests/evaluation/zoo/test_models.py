"""Some models of transformers run with the other tests; `make models-zoo` runs all eight."""

from __future__ import annotations

import pytest

from evaluation.zoo.suite import judge

pytest.importorskip("transformers")

SHOWN = {
    ("qwen2", "attention scale doubled"),
    ("gpt2", "position of the cached step"),
    ("llama", "eager against fused attention"),
}


def test_the_fault_alone_is_named_and_a_sound_run_is_left_alone() -> None:
    from evaluation.zoo.hugging_face.suite import cases

    listed = [c for c in cases(("statistics",), seed=1) if (c.architecture, c.name) in SHOWN]
    assert len(listed) == len(SHOWN)
    for verdict in judge(listed, 2):
        assert verdict.error is None
        if verdict.case.fault is None:
            assert verdict.findings == ()
        else:
            assert (verdict.place, len(verdict.findings)) == (1, 1)


def test_every_model_has_a_fault_and_controls() -> None:
    from evaluation.zoo.hugging_face.models import MODELS
    from evaluation.zoo.hugging_face.suite import CONTROLS, FAULTS

    assert set(FAULTS) == set(MODELS) == {control.architecture for control in CONTROLS}
    assert len(MODELS) == 8
