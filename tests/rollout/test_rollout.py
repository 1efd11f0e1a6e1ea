"""Trainer and engine compare token by token: sound ones are silent, faults and tokens are named."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import builder
from builder.reasons import OnlyIn, TokensAligned
from builder.work.options import BuildOptions
from tests.rollout.pairs import FEED_FORWARD, PAIRS
from tests.rollout.suite import Answer, answers

BY_NAME = {pair.name: pair for pair in PAIRS}
SAMPLES = [
    ("right-other-order", ("another activation", "cache overwritten")),
    ("packed-chunked", ("epsilon", "superfluous rotation")),
]


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda sample: sample[0])
def sampled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, list[Answer]]]:
    name, faults = request.param
    root = tmp_path_factory.mktemp(name)
    yield root / name, list(answers(BY_NAME[name], ("sound", *faults), root))


def test_sound_engines_are_silent_and_faults_are_named(
    sampled: tuple[Path, list[Answer]],
) -> None:
    said = sampled[1]
    assert [answer for answer in said if not answer.is_right] == []
    assert [answer for answer in said if answer.wanted and not answer.has_token] == []
    assert sum(answer.wanted is not None for answer in said) > 1


def test_all_steps_of_the_engine_are_joined(sampled: tuple[Path, list[Answer]]) -> None:
    aligned = [answer.aligned for answer in sampled[1]]
    assert all(told is not None and told.requests == 4 and told.left == 0 for told in aligned)
    assert len({told.tokens for told in aligned if told is not None}) == 1


def test_either_run_may_be_the_problem(sampled: tuple[Path, list[Answer]], tmp_path: Path) -> None:
    folder, said = sampled
    fault = next(answer for answer in said if answer.wanted is not None)
    result = builder.build(folder / "trainer", folder / fault.run, tmp_path)
    assert any(isinstance(note, TokensAligned) for note in result.summary)
    assert not any(isinstance(note, OnlyIn) for note in result.summary)
    assert result.findings
    assert not builder.build(folder / "trainer", folder / "sound", tmp_path).findings


def test_a_router_that_rounding_decides_for_few_tokens_is_no_beginning(tmp_path: Path) -> None:
    run = "one token routed otherwise"
    pair = replace(BY_NAME["experts-left"], faults={run: (FEED_FORWARD, "first")})
    (answer,) = answers(pair, (run,), tmp_path)
    assert answer.aligned is not None
    assert answer.named == ()


def test_tokens_are_left_alone_where_a_user_says_so(
    sampled: tuple[Path, list[Answer]], tmp_path: Path
) -> None:
    folder = sampled[0]
    options = BuildOptions(same="model")
    result = builder.build(folder / "sound", folder / "trainer", tmp_path, options)
    assert not any(isinstance(note, TokensAligned) for note in result.summary)
