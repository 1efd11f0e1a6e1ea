"""Who reads weights and gradients that differ, of files that hold the values to tell."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import cast

from builder.results.database import ResultDatabase
from builder.results.gradient_readers import GradientReader, gradient_readers
from builder.results.reading import Results
from builder.results.weight_readers import WeightReader, weight_readers


def readers_of_weights(results: Results, modules: Sequence[int]) -> list[WeightReader]:
    """What reads weights that differ of some modules of one step and rank."""
    if not modules or not isinstance(results, ResultDatabase):
        return []
    with results.engine_at(max(modules)).connect() as connection:
        own = cast("sqlite3.Connection", connection.connection.driver_connection)
        return weight_readers(own, modules, results.threshold)


def readers_of_gradients(results: Results, step: int, rank: int, node: int) -> list[GradientReader]:
    """Which calls of an optimizer read gradients that differ; `node` is one of step and rank."""
    if not isinstance(results, ResultDatabase):
        return []
    with results.engine_at(node).connect() as connection:
        own = cast("sqlite3.Connection", connection.connection.driver_connection)
        return gradient_readers(own, step, rank, results.threshold)
