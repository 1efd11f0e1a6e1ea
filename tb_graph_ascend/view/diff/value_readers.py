"""Who reads weights, gradients and inputs that differ, of files that hold the values to tell."""

from __future__ import annotations

from collections.abc import Sequence

from builder.results.database import ResultDatabase
from builder.results.engine import driver_of
from builder.results.equal_numbers import ValueReader, fed_readers, gradient_readers, weight_readers
from builder.results.reading import Results


def readers_of_weights(results: Results, modules: Sequence[int]) -> list[ValueReader]:
    """What reads weights that differ of some modules of one step and rank."""
    if not modules or not isinstance(results, ResultDatabase):
        return []
    with results.engine_at(max(modules)).connect() as connection:
        return weight_readers(driver_of(connection), modules, results.threshold)


def readers_of_inputs(results: Results, modules: Sequence[int]) -> list[ValueReader]:
    """What reads inputs that differ of some modules of one step and rank."""
    if not modules or not isinstance(results, ResultDatabase):
        return []
    with results.engine_at(max(modules)).connect() as connection:
        return fed_readers(driver_of(connection), modules, results.threshold)


def readers_of_gradients(results: Results, step: int, rank: int, node: int) -> list[ValueReader]:
    """Which calls of an optimizer read gradients that differ; `node` is one of step and rank."""
    if not isinstance(results, ResultDatabase):
        return []
    with results.engine_at(node).connect() as connection:
        return gradient_readers(driver_of(connection), step, rank, results.threshold)
