"""Puts the server together: one Flask app, the same in TensorBoard and standing alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
from flask import Flask, Response, request

from tb_graph_ascend.server import (
    builds,
    compare_tables,
    databases,
    errors,
    exports,
    findings,
    graphs,
    guard,
    mappings,
    nodes,
    pages,
    pictures,
    rows,
    search,
    traces,
    trends,
)
from tb_graph_ascend.server.answers import finish
from tb_graph_ascend.server.openapi import document
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Settings, Workplace, make_workplace

_LONGEST_BODY = 4 << 20
_RESOURCES = (
    *(databases, graphs, rows, nodes, findings, traces, search),
    *(mappings, exports, compare_tables, pictures, builds, trends),
)


def create_app(logdirs: Sequence[Path], settings: Settings | None = None) -> Flask:
    """The app over log folders; nothing is read before the first request."""
    place = make_workplace(logdirs, settings or Settings())
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = _LONGEST_BODY
    app.url_map.strict_slashes = False
    errors.install(app)
    listed = resources(place)
    for routes in listed:
        app.register_blueprint(routes.blueprint)
    app.add_url_rule("/api/openapi.json", "openapi", lambda: _describe(listed))
    app.register_blueprint(pages.blueprint(place.settings.static))
    app.before_request(lambda: guard.check(request, place.settings))
    app.after_request(_complete)
    return app


def resources(place: Workplace) -> list[Resource]:
    """All resources of the server."""
    return [module.resource(place) for module in _RESOURCES]


def _describe(listed: Sequence[Resource]) -> Response:
    described = document([route for part in listed for route in part.routes], _version())
    return Response(msgspec.json.encode(described), mimetype="application/json")


def _version() -> str:
    try:
        return version("tb-graph-ascend")
    except PackageNotFoundError:
        return "unknown"


def _complete(answer: Response) -> Response:
    return guard.add_headers(finish(request, answer))
