"""The OpenAPI document, made of what the routes declare: it says what they do, nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from inspect import cleandoc
from typing import Any, get_args

import msgspec

from builder.reasons import Reason
from tb_graph_ascend.server.messages import Failure
from tb_graph_ascend.server.resource import NoQuery, Route

_VARIABLE = re.compile(r"<(?:(?P<kind>\w+)(?:\((?P<options>[^)]*)\))?:)?(?P<name>\w+)>")
_TEMPLATE = "#/components/schemas/{name}"
_REFERENCE = re.compile(_TEMPLATE.format(name=r"(\w+)"))
_STATUSES = {
    400: "An argument is missing, unknown or out of range.",
    403: "Not allowed here: another site or host name, or a read-only server.",
    404: "There is no such thing.",
    405: "An argument of the path is of another type, so that the path is none of these.",
    409: "It does not fit the state of things.",
    415: "The body is not JSON.",
    422: "The file cannot be used.",
}
Json = dict[str, Any]

# They say themselves what is left out.
_REASONS = frozenset(reason.__name__ for reason in get_args(Reason))


def document(routes: Sequence[Route], version: str) -> Json:
    """The document of all routes."""
    types = {t for r in routes for t in (r.query, r.body, r.answer, Failure) if t is not None}
    ordered = sorted(types - {NoQuery}, key=lambda t: t.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_TEMPLATE)
    for schema in components.values():  # docstrings, which releases of msgspec indent as they like
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"])
    paths: dict[str, Json] = {}
    for route in routes:
        path = "/api" + _VARIABLE.sub(r"{\g<name>}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, components)
    _require_what_is_sent(routes, components)
    queries = {route.query.__name__ for route in routes}
    shown = {name: schema for name, schema in components.items() if name not in queries}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tb-graph-ascend", "version": version},
        "paths": paths,
        "components": {"schemas": shown},
    }


def _require_what_is_sent(routes: Sequence[Route], components: Json) -> None:
    # A default is what a request may leave out; an answer is sent with all of its fields, but for
    # those of a reason that are unset, of which its schema tells no default.
    taken = _reached((r.body.__name__ for r in routes if r.body is not None), components)
    for name in _reached((r.answer.__name__ for r in routes if r.answer is not None), components):
        if name not in taken and name not in _REASONS:
            components[name]["required"] = list(components[name]["properties"])


def _reached(names: Iterable[str], components: Json) -> set[str]:
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _REFERENCE.findall(json.dumps(components[name]))
    return reached


def _operation(route: Route, components: Json) -> Json:
    operation: Json = {
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route, components)],
        "responses": dict(_responses(route)),
    }
    if route.body is not None:
        schema = {"$ref": _TEMPLATE.format(name=route.body.__name__)}
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation


def _path_parameters(route: Route) -> Iterable[Json]:
    for match in _VARIABLE.finditer(route.path):
        schema: Json = {"type": "string", "minLength": 1}
        if match["kind"] == "int":
            schema = {"type": "integer"} | ({} if match["options"] else {"minimum": 0})
        elif match["kind"] == "any":
            schema = {"enum": [name.strip() for name in match["options"].split(",")]}
        yield {"name": match["name"], "in": "path", "required": True, "schema": schema}


def _query_parameters(route: Route, components: Json) -> Iterable[Json]:
    if route.query is NoQuery:
        return
    described = components[route.query.__name__]
    for name, schema in described["properties"].items():
        required = name in described.get("required", ())
        yield {"name": name, "in": "query", "required": required, "schema": _without_null(schema)}


def _without_null(schema: Json) -> Json:
    # An address has no null: an argument that is left out is none.
    kept = {key: part for key, part in schema.items() if key != "default" or part is not None}
    if "anyOf" in kept:
        options = [option for option in kept.pop("anyOf") if option.get("type") != "null"]
        kept |= options[0] if len(options) == 1 else {"anyOf": options}
    if isinstance(kept.get("enum"), list):
        kept["enum"] = [option for option in kept["enum"] if option is not None]
    return kept


def _responses(route: Route) -> Iterable[tuple[str, Json]]:
    content: Json = {"schema": {"type": "string"}}
    if route.answer is not None:
        content = {"schema": {"$ref": _TEMPLATE.format(name=route.answer.__name__)}}
    media = [route.media_type]
    if route.answer is None and route.media_type == "text/csv":
        media.append("application/json")
    answers = {
        kind: content if kind != "application/json" or route.answer else {} for kind in media
    }
    yield "200", {"description": route.summary, "content": answers}
    failed = {"application/json": {"schema": {"$ref": _TEMPLATE.format(name="Failure")}}}
    # Any request may come under a host name that the server does not answer to.
    for status in sorted({403, *route.failures, *((405,) if route.method != "GET" else ())}):
        yield str(status), {"description": _STATUSES[status], "content": failed}
