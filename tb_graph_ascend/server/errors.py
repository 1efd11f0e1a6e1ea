"""What a request can fail with, and the one place that turns every exception into an answer.

RequestError
├── BadArgumentError   400  an argument is missing, unknown or out of range
├── ForbiddenError     403  the request is not allowed here
├── NotFoundError      404  no such database, pair, node or job
├── ConflictError      409  what is asked for does not fit the state
├── PreconditionError  412  the request names something that it has to send first
└── UnusableError      422  a file is there but cannot be used
"""

from __future__ import annotations

import logging
import sqlite3

from flask import Flask, Response
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException

from builder.errors import BuilderError, ExpressionError, UnknownNodeError
from builder.results.opening import ran_too_long
from builder.results.records import Refusal
from tb_graph_ascend.server.answers import json_response
from tb_graph_ascend.server.messages import Failure

_log = logging.getLogger(__name__)
_TOO_LONG = "reading took longer than the server allows one question; the file is whole"
_ASK_FOR_LESS = (
    "try again when the machine is less busy, or ask for less: map one pair of names at a time, or "
    "build with the names in a file (msprobe graph_visualize -lm FILE)"
)


class RequestError(Exception):
    """A request that cannot be answered: what is wrong, and what to do next."""

    status = 400

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class BadArgumentError(RequestError):
    """An argument is missing, unknown or out of range."""


class ForbiddenError(RequestError):
    """The request is not allowed here."""

    status = 403


class NotFoundError(RequestError):
    """There is no such thing."""

    status = 404


class ConflictError(RequestError):
    """What is asked for does not fit the state of things."""

    status = 409


class PreconditionError(RequestError):
    """The request names something that it has to send first."""

    status = 412


class UnusableError(RequestError):
    """A file is there, but it cannot be used."""

    status = 422


def install(app: Flask) -> None:
    """Make every failure of an app an answer of the documented form."""
    app.register_error_handler(RequestError, _requested_wrongly)
    app.register_error_handler(HTTPException, _refused_by_flask)
    app.register_error_handler(UnknownNodeError, _unknown)
    app.register_error_handler(ExpressionError, _no_expression)
    app.register_error_handler(BuilderError, _builder_refused)
    app.register_error_handler(SQLAlchemyError, _unreadable)
    app.register_error_handler(sqlite3.Error, _unreadable)
    app.register_error_handler(Exception, _our_fault)


def failure(
    status: int, error: str, hint: str | None = None, reason: Refusal | None = None
) -> Response:
    """An answer that says what failed, in one line."""
    return json_response(Failure(" ".join(error.split()), hint, reason), status)


def _requested_wrongly(error: RequestError) -> Response:
    return failure(error.status, str(error), error.hint)


def _refused_by_flask(error: HTTPException) -> Response:
    answer = failure(error.code or 500, f"{error.name}: {error.description}")
    for name, header in error.get_headers():
        if name == "Allow":
            answer.headers[name] = header
    return answer


def _unknown(error: UnknownNodeError) -> Response:
    return failure(404, error.message, error.hint)


def _no_expression(error: ExpressionError) -> Response:
    return failure(400, f"q: {error.message}", error.hint, error.reason)


def _builder_refused(error: BuilderError) -> Response:
    return failure(422, error.message, error.hint)


def _unreadable(error: SQLAlchemyError | sqlite3.Error) -> Response:
    cause = getattr(error, "orig", None) or error
    if ran_too_long(cause):
        return failure(422, _TOO_LONG, _ASK_FOR_LESS)
    return failure(422, f"the file cannot be read: {cause}", "build the database again")


def _our_fault(error: Exception) -> Response:
    _log.exception("request failed", exc_info=error)
    text = f"internal error: {type(error).__name__}: {error}"
    return failure(500, text[:500], "the server's log has the traceback; please report it")
