"""Trainer and engine compare token by token: sound ones are silent, faults and tokens are named."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import builder
from builder.reasons import AmplifiedAt, OnlyIn, TokensAligned
from builder.results.database import ResultDatabase
from builder.results.token_lines import node_tokens
from builder.work.options import BuildOptions
from evaluation.rollout.engine import Share
from evaluation.rollout.pairs import FEED_FORWARD, WHOLE
from evaluation.rollout.suite import Answer, answers, every_pair

BY_NAME = {pair.name: pair for pair in every_pair()}
SAMPLES = [
    (
        "right-other-order",
        ("another activation", "cache overwritten", "scale forgotten", "epsilon"),
    ),
    ("packed-chunked", ("epsilon", "superfluous rotation")),
    ("mixture-bf16-engine", ("window left out", "routed scale forgotten")),
    ("mixture-rows", ("query not normed", "key turned before its norm")),
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


def test_a_router_behind_a_fault_is_told_as_amplifying_it_with_its_margin(tmp_path: Path) -> None:
    pair = BY_NAME["experts-left"]
    (answer,) = answers(pair, ("scale",), tmp_path)
    assert answer.is_right
    (path,) = (tmp_path / "compared").rglob("*.vis.db")
    (finding,) = ResultDatabase(path).findings(None, None).findings
    (said,) = [reason for reason in finding.reasons if isinstance(reason, AmplifiedAt)]
    assert 0 <= said.margin <= said.apart
    # By the recorded tensors: the trainer pads in front, the engine packs the tokens of a pass.
    folder = tmp_path / pair.name
    longest = max(WHOLE) + 1
    picked = router(folder / "trainer", 0, "Torch.topk.2").reshape(len(WHOLE), longest, -1)
    otherwise = [
        (request, at)
        for number, shares in enumerate(pair.passes)
        for (request, at), experts in zip(
            [(r, at) for r, first, stop in shares for at in range(first, stop)],
            router(folder / "scale", number, "Tensor.topk.2"),
            strict=True,
        )
        if {*experts.tolist()} != {*picked[request, longest - WHOLE[request] + at].tolist()}
    ]
    assert said.name == "Tensor.topk.2.forward"
    assert (said.rows, said.of) == (len(otherwise), 34)
    assert otherwise


def router(folder: Path, step: int, call: str) -> torch.Tensor:
    """Which experts a router chose for each row, as its file has it."""
    (file,) = (folder / f"step{step}").rglob(f"{call}.forward.output.1.pt")
    tensor: torch.Tensor = torch.load(file)
    return tensor


def test_the_line_over_tokens_is_red_where_the_tensors_differ(tmp_path: Path) -> None:
    pair, run = BY_NAME["packed-one-by-one"], "cache overwritten"
    pair = replace(pair, dtype=torch.float32, faults={run: pair.faults[run]})
    (answer,) = answers(pair, (run,), tmp_path)
    (path,) = (tmp_path / "compared").rglob("*.vis.db")
    database = ResultDatabase(path)
    (finding,) = database.findings(None, None).findings
    told = node_tokens(database, finding.node.id)
    (line,) = [line for line in told.lines if line.role == "output"]
    red = [
        (cell.first.request, cell.first.position)
        for cell, score in zip(told.cells, line.scores)
        if score
    ]
    assert line.first is not None
    assert (line.first.request, line.first.position) == answer.token
    assert (len(red), line.tokens) == (line.apart, len(told.cells))
    assert red == wrong_rows(tmp_path / pair.name, pair.passes, run)
    assert all(line.apart == 0 for line in told.lines if line.role == "input")
    assert node_tokens(database, finding.node.id + 1).lines != told.lines


def wrong_rows(folder: Path, passes: Sequence[Sequence[Share]], run: str) -> list[tuple[int, int]]:
    """By the recorded tensors: the tokens of which the attention puts out other rows."""
    trainer = attention(folder / "trainer", 0)[0]
    starts = [sum(WHOLE[:request]) for request in range(len(WHOLE))]  # the trainer packs
    wrong = []
    for number, shares in enumerate(passes):
        rows = attention(folder / run, number)
        tokens = [(r, at) for r, first, stop in shares for at in range(first, stop)]
        for (request, at), row in zip(tokens, rows, strict=True):
            if not torch.allclose(row, trainer[starts[request] + at], rtol=1e-4, atol=1e-4):
                wrong.append((request, at))
    return sorted(wrong)


def attention(folder: Path, step: int) -> torch.Tensor:
    """What the faulty layer's attention puts out in one step, as its file has it."""
    name = "Module.model.layers.1.self_attn.Attention.forward.0.output.0.pt"
    (file,) = (folder / f"step{step}").rglob(name)
    tensor: torch.Tensor = torch.load(file)
    return tensor.float()


def test_tokens_are_left_alone_where_a_user_says_so(
    sampled: tuple[Path, list[Answer]], tmp_path: Path
) -> None:
    folder = sampled[0]
    options = BuildOptions(same="model")
    result = builder.build(folder / "sound", folder / "trainer", tmp_path, options)
    assert not any(isinstance(note, TokensAligned) for note in result.summary)
