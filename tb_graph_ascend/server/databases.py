"""The result files below the log folders, and each as a whole."""

from __future__ import annotations

import os

import msgspec

from tb_graph_ascend.server.messages import DatabaseAnswer, Databases, StandingAnswer
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace
from tb_graph_ascend.view.rank_strip import RankStrip, rank_strip


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases`."""
    routes = Resource("databases")

    @routes.route("/databases", answer=Databases, failures=(400,))
    def list_databases() -> Databases:
        """Every result file below the log folders, newest first."""
        folders = [os.fspath(folder) for folder in place.library.logdirs.folders]
        return Databases(place.library.entries(), folders, place.settings.read_only)

    @routes.route("/databases/<db>", answer=DatabaseAnswer)
    def describe(db: str) -> DatabaseAnswer:
        """One database as a whole, with one record for each step and rank."""
        opened = place.open(db)
        return DatabaseAnswer(
            **msgspec.structs.asdict(opened.database.summary()),
            id=opened.file.token,
            path=opened.file.shown,
            writable=opened.writable and not place.settings.read_only,
            read_only=place.settings.read_only,
        )

    @routes.route("/databases/<db>/answer", answer=StandingAnswer)
    def where_it_begins(db: str) -> StandingAnswer:
        """Where it begins: the causes, and what was not compared."""
        return place.library.answer(place.open(db))

    @routes.route("/databases/<db>/ranks", answer=RankStrip)
    def ranks(db: str) -> RankStrip:
        """Steps × ranks, ranks that look alike in one row."""
        database = place.open(db).database
        return rank_strip(database.summary().pairs, database.threshold)

    return routes
