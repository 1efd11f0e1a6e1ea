"""The way from a node of a result file, asked for by its name, back to its cause."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from builder.errors import DatabaseError
from builder.results.followers.step import step_followers
from builder.results.followers.told_way import told_way
from builder.results.named_nodes import node_named
from builder.results.open_results import open_results
from builder.results.trace import Trace


def explained_way(path: Path, name: str, step: int | None = None, rank: int | None = None) -> Trace:
    """The way that the page tells of a node, in the first step and rank that has it.

    Raises DatabaseError for a file that cannot be read and UnknownNodeError for a name that the
    step and rank does not have.
    """
    node = node_named(path, name, step, rank)
    try:
        with closing(open_results(path)) as results:
            return told_way(results, partial(step_followers, results), node)
    except SQLAlchemyError as error:
        raise DatabaseError(f"{path}: is damaged ({error})", "build it again") from None
