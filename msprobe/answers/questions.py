"""All that a program may ask, by name: arguments, answer, and how it is bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from msprobe.answers.arguments import (
    Asked,
    OfFinding,
    OfFolder,
    OfNewResult,
    OfNode,
    OfResult,
    OfTwoResults,
)
from msprobe.answers.bounds import bounded
from msprobe.answers.new_result import build_result
from msprobe.answers.next_recording import record_next
from msprobe.answers.node_values import node_values
from msprobe.answers.nodes import explain_node, node_neighbours
from msprobe.answers.overview import findings, list_results, open_result
from msprobe.answers.result_folder import ResultFolder
from msprobe.answers.two_results import compare_results
from msprobe.errors import AnswerError
from msprobe_core.format.mendable_error import MendableError

Answer = Callable[[ResultFolder, Any], msgspec.Struct]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask; `listed` is the field of its answer that comes in pages."""

    arguments: type[Asked]
    answer: Answer
    listed: str
    summary: str
    writes: bool = False

    @property
    def name(self) -> str:
        """What it is called: the name of the function that answers it."""
        return str(getattr(self.answer, "__name__", ""))

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments."""
        _, definitions = msgspec.json.schema_components([self.arguments])
        return cast("dict[str, Any]", definitions[self.arguments.__name__])


_ASKED = (
    Question(OfFolder, list_results, "results", "List the results below the folder, newest first."),
    Question(
        OfResult,
        open_result,
        "pairs",
        "Open a result: what may be said of its two runs, what was not compared, its pairs of "
        "step and rank, and the first finding.",
    ),
    Question(
        OfResult,
        findings,
        "findings",
        "Where the problem run begins to differ, best suspect first: reasons, certainty, the "
        "line of source.",
    ),
    Question(
        OfNode,
        explain_node,
        "way",
        "Why a node differs: scores, reasons, the line that calls it, the way back to its cause.",
    ),
    Question(
        OfNode,
        node_neighbours,
        "neighbours",
        "Who made the inputs of a node, and who reads its outputs.",
    ),
    Question(
        OfNode,
        node_values,
        "values",
        "The recorded values of a node in both runs: statistics, errors, what differs.",
    ),
    Question(
        OfTwoResults,
        compare_results,
        "changes",
        "Hold a result after a change against the one before: findings gone, staying, new.",
    ),
    Question(
        OfFinding,
        record_next,
        "recordings",
        "What to record next: configurations that prove a finding, or show more without one.",
    ),
    Question(
        OfNewResult,
        build_result,
        "pairs",
        "Compare two dumps below the folder and open the new result. Only where the server was "
        "started with a folder to build into.",
        writes=True,
    ),
)
QUESTIONS = {question.name: question for question in _ASKED}


def ask(
    folder: ResultFolder, name: str, arguments: object, *, lenient: bool = False
) -> dict[str, Any]:
    """The answer to a question as JSON may have it, at most 4 KB.

    `arguments` are an object of JSON, or with `lenient` one whose numbers are texts. Raises
    AnswerError, without any absolute path, for what cannot be asked so or cannot be read.
    """
    try:
        return _answer(folder, name, arguments, lenient=lenient)
    except MendableError as error:
        told = map(folder.paths.text, (error.message, error.hint))
        raise AnswerError(*told) from error


def _answer(folder: ResultFolder, name: str, arguments: object, *, lenient: bool) -> dict[str, Any]:
    question = QUESTIONS.get(name)
    if question is None:
        raise AnswerError(f"{name[:100]!r}: no such question", f"ask one of {', '.join(QUESTIONS)}")
    try:
        asked = msgspec.convert(arguments, question.arguments, strict=not lenient)
    except msgspec.ValidationError as error:
        known = ", ".join(question.schema["properties"])
        raise AnswerError(f"{name}: {str(error)[:300]}", f"arguments are {known}") from None
    try:
        said = question.answer(folder, asked)
    except SQLAlchemyError as error:
        raise AnswerError(
            f"{name}: the result file is damaged ({type(error).__name__})",
            "build it again with `msprobe graph_visualize`",
        ) from error
    return bounded(said, question.listed, asked.offset, folder.paths)
