"""Ports are compared where their modules correspond: sound ones are silent, faults are named."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import builder
from builder.reasons import TwoImplementations
from builder.work.options import BuildOptions
from evaluation.ports import (
    decoder,
    encoder_decoder,
    experts,
    gpt,
    grouped_heads,
    layouts,
    untrained,
    vision,
)
from evaluation.ports.port import Port
from evaluation.ports.run import ORIGINAL, SOUND
from evaluation.ports.suite import Answer, answers

SAMPLES = [
    (decoder.PORT, "float32", ("scale", "epsilon", "weight scaled")),
    (gpt.PORT, "bfloat16", ("no residual", "positions off by one", "bias forgotten")),
    (vision.PORT, "float32", ("scale forgotten", "mean pooled")),
    (experts.PORT, "bfloat16", ("gate and up swapped", "expert missing")),
    (layouts.PORT, "bfloat16", ("no mask", "another activation", "factor forgotten")),
    (grouped_heads.PORT, "bfloat16", ("groups in turn", "all of the head turned")),
    (encoder_decoder.PORT, "bfloat16", ("another activation", "cross attention scaled")),
    (untrained.PORT, "float32", ("another activation", "key not normed")),
]


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda sample: sample[0].name)
def sampled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, list[Answer]]]:
    port, dtype, faults = request.param
    assert isinstance(port, Port)
    root = tmp_path_factory.mktemp(port.name)
    yield root / f"{port.name}-{dtype}", list(answers(port, dtype, (SOUND, *faults), root))


def test_sound_ports_are_silent_and_faults_are_named(sampled: tuple[Path, list[Answer]]) -> None:
    said = sampled[1]
    assert [answer for answer in said if not answer.is_right] == []
    assert sum(answer.wanted is not None for answer in said) > 1


def test_a_port_that_is_compared_as_a_program_is_refused_in_words(
    sampled: tuple[Path, list[Answer]], tmp_path: Path
) -> None:
    folder = sampled[0]
    options = BuildOptions(same="program")
    result = builder.build(folder / SOUND, folder / ORIGINAL, tmp_path, options)
    assert "share" in str(builder.diagnose(result.path).refusal)
    assert not any(isinstance(note, TwoImplementations) for note in result.summary)


def test_the_pair_says_what_it_is_compared_by(
    sampled: tuple[Path, list[Answer]], tmp_path: Path
) -> None:
    folder = sampled[0]
    result = builder.build(folder / SOUND, folder / ORIGINAL, tmp_path)
    told = [note for note in result.summary if isinstance(note, TwoImplementations)]
    assert len(told) == 1
    assert 0 < told[0].found <= told[0].weights
    assert told[0].modules > 3
    assert builder.diagnose(result.path).refusal is None


def test_calls_alone_are_compared_where_they_read_the_same_weights(tmp_path: Path) -> None:
    places = {"scale": decoder.FusedAttention, "another activation": decoder.FusedFeedForward}
    list(answers(decoder.PORT, "float32", (SOUND, *places), tmp_path, "L1"))
    folder = tmp_path / "decoder-float32"
    found = {
        run: builder.build(folder / run, folder / ORIGINAL, tmp_path / run).findings
        for run in (SOUND, *places)
    }
    assert list(found[SOUND]) == []
    for fault, module in places.items():
        line = re.search(r"line (\d+), in forward", found[fault][0].line or "")
        assert line is not None
        source, start = inspect.getsourcelines(module)
        assert start < int(line.group(1)) < start + len(source)
