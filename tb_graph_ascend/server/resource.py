"""A resource: a blueprint whose routes declare their arguments and answers.

The declarations do the parsing here and become the OpenAPI document, so neither can drift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from flask import Blueprint, Response, request

from tb_graph_ascend.server.answers import json_response
from tb_graph_ascend.server.errors import BadArgumentError

Handler = TypeVar("Handler", bound=Callable[..., Any])


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The route takes no query arguments."""


@dataclass(frozen=True, slots=True)
class Route:
    """One route as declared; `answer` None means that the handler makes its own response.

    Who is no client, such as what writes a page without a server, calls the `handler` itself.
    """

    method: str
    path: str
    summary: str
    query: type[msgspec.Struct]
    body: type[msgspec.Struct] | None
    answer: type[msgspec.Struct] | None
    media_type: str
    failures: Sequence[int]
    handler: Callable[..., Any]


class Resource:
    """The routes of one resource below `/api`."""

    def __init__(self, name: str) -> None:
        self.blueprint = Blueprint(name, __name__, url_prefix="/api")
        self.routes: list[Route] = []

    def route(
        self,
        path: str,
        *,
        method: str = "GET",
        query: type[msgspec.Struct] = NoQuery,
        body: type[msgspec.Struct] | None = None,
        answer: type[msgspec.Struct] | None = None,
        media_type: str = "application/json",
        failures: Sequence[int] = (400, 404, 422),
    ) -> Callable[[Handler], Handler]:
        """Declare a handler.

        It is called with the variables of the path, then the parsed query where one is declared,
        then the parsed body; what it returns is sent as JSON.
        """

        def declare(handler: Handler) -> Handler:
            summary = (handler.__doc__ or "").strip().splitlines()[0]
            declared = Route(
                method, path, summary, query, body, answer, media_type, failures, handler
            )
            self.routes.append(declared)
            endpoint = f"{method.lower()}_{handler.__name__}"
            view = _view(declared, handler)
            self.blueprint.add_url_rule(path, endpoint, view, methods=[method])
            return handler

        return declare


def _view(route: Route, handler: Callable[..., Any]) -> Callable[..., Response]:
    # msgspec learns a type when it is first used, and crashes when two threads do so at once.
    for parsed in (route.query, route.body):
        if parsed is not None:
            msgspec.json.Decoder(parsed)

    def view(**variables: object) -> Response:
        given: list[object] = []
        query = _parse_query(route.query)
        if route.query is not NoQuery:
            given.append(query)
        if route.body is not None:
            given.append(_parse_body(route.body))
        answer = handler(*variables.values(), *given)
        return answer if isinstance(answer, Response) else json_response(answer)

    return view


def _parse_query(wanted: type[msgspec.Struct]) -> msgspec.Struct:
    # An empty argument is one that a form left out.
    given = {name: text for name, text in request.args.items() if text != ""}
    try:
        query = msgspec.convert(given, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise _bad_argument(error, wanted) from None
    for name in given:
        # The lax conversion takes the text "null" for nothing.
        if getattr(query, name) is None:
            raise BadArgumentError(f"{name}: null is no value", "leave the argument out")
    return query


def _parse_body(wanted: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.json.decode(request.get_data(), type=wanted)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise _bad_argument(error, wanted) from None


def _bad_argument(error: msgspec.MsgspecError, wanted: type[msgspec.Struct]) -> BadArgumentError:
    text, _, place = str(error).partition(" - at `$")
    name = place.strip("`.") or "the arguments"
    known = ", ".join(wanted.__struct_fields__) or "no arguments"
    return BadArgumentError(f"{name}: {text}", f"this route takes {known}")
