"""The answers that are written ahead: the server's own handlers, asked for all there is to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from flask import Flask, Response

from builder.errors import BuilderError
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.app import resources
from tb_graph_ascend.server.errors import RequestError
from tb_graph_ascend.server.messages import Databases
from tb_graph_ascend.server.resource import NoQuery, Route
from tb_graph_ascend.server.rows import WeightQuery
from tb_graph_ascend.server.trend_messages import TrendList
from tb_graph_ascend.server.workplace import Workplace

_DB = "/databases/<db>"
_PAIR = f"{_DB}/pairs/<int(signed=True):step>/<int(signed=True):rank>"
_NODE = f"{_DB}/nodes/<int:node>"
# Of the whole file, and of a step and rank.
_OF_FILE = ("", "/answer", "/ranks", "/mappings")
_TABLES = ("pairs", "findings")
_OF_PAIR = ("", "/profile", "/shares", "/nonfinite", "/proposals")
_ALL_WEIGHTS = 2**31


class Refused(msgspec.Struct, frozen=True):
    """An answer that is a refusal, by its status."""

    status: int
    body: msgspec.Raw


class Handlers:
    """The handlers of the server, called within a request of the app's own."""

    def __init__(self, app: Flask, place: Workplace, db: str) -> None:
        self._app = app
        self._db = db
        self._routes: dict[str, Route] = {
            one.path: one for part in resources(place) for one in part.routes if one.method == "GET"
        }

    def ask(self, path: str, *variables: object) -> bytes:
        """The answer of a route below a database as JSON or text; a refusal as Refused."""
        route = self._routes[path]
        query = () if route.query is NoQuery else (route.query(),)
        return self.refusing(lambda: route.handler(self._db, *variables, *query))

    def refusing(self, ask: Callable[[], object]) -> bytes:
        """What a question answers, or Refused where the server would refuse it."""
        try:
            answer = ask()
        except (BuilderError, RequestError) as error:
            refusal = self._app.make_response(self._app.handle_user_exception(error))
            body = msgspec.Raw(refusal.get_data())
            return encoded({"refused": Refused(refusal.status_code, body)})
        return answer.get_data() if isinstance(answer, Response) else encoded(answer)

    def all_weights(self, step: int, rank: int) -> bytes:
        """All parameters that two programs share, in one page."""
        query = WeightQuery(limit=_ALL_WEIGHTS)
        handler = self._routes[f"{_PAIR}/weights"].handler
        return self.refusing(lambda: handler(self._db, step, rank, query))

    def of_file(self, databases: Databases) -> Iterator[tuple[str, bytes]]:
        """Answers about the file as a whole, by their addresses."""
        yield "databases", encoded(databases)
        yield "trends", encoded(TrendList([]))
        for rest in _OF_FILE:
            yield f"databases/{self._db}{rest}", self.ask(f"{_DB}{rest}")
        for name in _TABLES:
            for form in ("csv", "json"):
                path = f"{_DB}/export/{name}.<any(csv, json):form>"
                yield f"databases/{self._db}/export/{name}.{form}", self.ask(path, form)
        yield f"databases/{self._db}/export/report.html", self.ask(f"{_DB}/export/report.html")

    def of_pair(self, step: int, rank: int) -> Iterator[tuple[str, bytes]]:
        """Answers about a step and rank, by their addresses."""
        place = f"databases/{self._db}/pairs/{step}/{rank}"
        for rest in _OF_PAIR:
            yield f"{place}{rest}", self.ask(f"{_PAIR}{rest}", step, rank)
        yield f"{place}/weights", self.all_weights(step, rank)

    def of_nodes(self, rest: str, nodes: Sequence[int]) -> Iterator[bytes]:
        """One answer for each of many nodes."""
        for node in nodes:
            yield self.ask(f"{_NODE}{rest}", node)
