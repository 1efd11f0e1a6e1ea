"""Tokens of an engine's forward passes are found in a trainer's sequences, however they are cut."""

from collections.abc import Sequence

import numpy as np
import pytest

from builder.match.sequences.token_alignment import Forward, Tokens, align

PAD = 0


def padded(sequences: Sequence[Sequence[int]], left: bool) -> Forward:
    longest = max(map(len, sequences)) + 1
    ids = np.full((len(sequences), longest), PAD)
    for line, sequence in zip(ids, sequences):
        line[slice(-len(sequence), None) if left else slice(0, len(sequence))] = sequence
    return Forward(ids.ravel(), ids.shape)


def packed(sequences: Sequence[Sequence[int]], with_positions: bool = True) -> Forward:
    ids = np.concatenate([np.array(sequence) for sequence in sequences])
    positions = np.concatenate([np.arange(len(sequence)) for sequence in sequences])
    return Forward(ids, (1, len(ids)), positions if with_positions else None)


def passes(
    sequences: Sequence[Sequence[int]], shares: list[list[tuple[int, int, int]]], told: bool = True
) -> list[Forward]:
    """Forward passes over parts of sequences: (which, from, to)."""
    return [
        Forward(
            np.array([t for which, a, b in share for t in sequences[which][a:b]]),
            (sum(b - a for _, a, b in share),),
            np.concatenate([np.arange(a, b) for _, a, b in share]) if told else None,
        )
        for share in shares
    ]


def found(tokens: Tokens) -> list[tuple[int, int]]:
    return list(zip(tokens.request.tolist(), tokens.position.tolist()))


def wanted(shares: list[list[tuple[int, int, int]]]) -> list[tuple[int, int]]:
    return [(which, at) for share in shares for which, a, b in share for at in range(a, b)]


def scheduled(seed: int) -> tuple[list[list[int]], list[list[tuple[int, int, int]]]]:
    """Sequences cut into chunks that run in any order, several of them in a forward pass."""
    drawn = np.random.default_rng(seed)
    count = int(drawn.integers(1, 6))
    sequences = [drawn.integers(1, 500, int(drawn.integers(2, 12))).tolist() for _ in range(count)]
    reached = [0] * count
    shares: list[list[tuple[int, int, int]]] = []
    while any(at < len(s) for at, s in zip(reached, sequences)):
        going = [n for n in range(count) if reached[n] < len(sequences[n])]
        chosen = drawn.permutation(going)[: int(drawn.integers(1, len(going) + 1))]
        share = []
        for which in chosen.tolist():
            stop = int(drawn.integers(reached[which] + 1, len(sequences[which]) + 1))
            share.append((which, reached[which], stop))
            reached[which] = stop
        shares.append(share)
    return sequences, shares


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("layout", ["left", "right", "packed"])
def test_every_token_is_found_however_they_are_cut(layout: str, told: bool) -> None:
    for seed in range(100):
        sequences, shares = scheduled(seed)
        whole = packed(sequences) if layout == "packed" else padded(sequences, layout == "left")
        tokens = align([whole], passes(sequences, shares, told))
        assert found(tokens) == wanted(shares), (seed, sequences, shares)
        assert tokens.left == 0


SEQUENCES = [[5, 6, 7, 8, 9], [5, 6, 3, 2, 4, 1], [8, 3, 1]]
SHARES = [[(1, 0, 3), (2, 0, 1)], [(1, 3, 4), (2, 1, 2), (0, 0, 4)], [(1, 4, 5), (0, 4, 5)]]


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    "whole", [padded(SEQUENCES, True), padded(SEQUENCES, False), packed(SEQUENCES)]
)
def test_chunks_and_decoding_are_followed_by_ids_alone(whole: Forward, told: bool) -> None:
    tokens = align([whole], passes(SEQUENCES, SHARES, told))
    assert found(tokens) == wanted(SHARES)
    assert tokens.ends == ((2, 3), (0, 1, 5), (0, 1))


def test_wrong_positions_do_not_mislead() -> None:
    cut = passes(SEQUENCES, SHARES)
    cut[1:] = [Forward(f.ids, f.shape, f.positions + 1) for f in cut[1:] if f.positions is not None]
    assert found(align([padded(SEQUENCES, True)], cut)) == wanted(SHARES)


def test_equal_prompts_are_told_by_their_answers() -> None:
    sequences = [[5, 6, 7, 1, 2], [5, 6, 7, 3, 4], [5, 6, 7, 1, 9]]
    shares = [
        [(n, 0, 3) for n in (2, 0, 1)],
        *([(n, at, at + 1) for n in (2, 0, 1)] for at in (3, 4)),
    ]
    tokens = align([padded(sequences, True)], passes(sequences, shares, told=False))
    assert found(tokens) == wanted(shares)


def test_a_prefix_that_another_request_left_in_the_cache_is_skipped() -> None:
    shares = [[(0, 0, 5)], [(1, 2, 6)]]
    assert found(align([padded(SEQUENCES, False)], passes(SEQUENCES, shares))) == wanted(shares)


def test_rows_of_no_sequence_are_counted_and_padding_is_not() -> None:
    cut = [Forward(np.array([5, 6, 7, 0, 0, 0]), (6,)), Forward(np.array([77, 78]), (2,))]
    tokens = align([padded(SEQUENCES, True)], cut)
    assert found(tokens) == [(0, 0), (0, 1), (0, 2)]
    assert tokens.left == 2


def test_a_padded_batch_that_generates_keeps_its_lines() -> None:
    first = padded([s[:3] for s in SEQUENCES[:2]], left=True)
    cut = [first, Forward(np.array([8, 2]), (2, 1)), Forward(np.array([9, 4]), (2, 1))]
    tokens = align([padded(SEQUENCES[:2], False)], cut)
    assert found(tokens)[6:] == [(0, 3), (1, 3), (0, 4), (1, 4)]
    assert [row for _, row in tokens.cut.tolist()][:6] == [1, 2, 3, 5, 6, 7]


def test_two_micro_batches_of_a_trainer_are_numbered_through() -> None:
    whole = [padded(SEQUENCES[:2], True), padded(SEQUENCES[2:], True)]
    assert found(align(whole, passes(SEQUENCES, SHARES))) == wanted(SHARES)
