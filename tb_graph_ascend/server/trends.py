"""The trends of trainings: scalars, heat maps, lines, alerts, and where two of them part."""

from __future__ import annotations

from tb_graph_ascend.server import trend_rows, trend_views
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.trend_messages import (
    TrendAlerts,
    TrendCell,
    TrendHeat,
    TrendLine,
    TrendLines,
    TrendList,
    TrendParting,
    TrendSummary,
    TrendTiles,
)
from tb_graph_ascend.server.trend_queries import (
    CellQuery,
    HeatQuery,
    LineQuery,
    PartingQuery,
    ScalarsQuery,
    TilesQuery,
)
from tb_graph_ascend.server.workplace import Workplace


def resource(place: Workplace) -> Resource:
    """Routes of `/api/trends`."""
    routes = Resource("trends")
    trends = trend_views.Trends(place.library)

    @routes.route("/trends", answer=TrendList, failures=(400,))
    def list_trends() -> TrendList:
        """Every folder with trends below the log folders, newest first."""
        return trends.entries()

    @routes.route("/trends/<run>", answer=TrendSummary)
    def describe_trends(run: str) -> TrendSummary:
        """A run's trends as a whole."""
        return trend_views.summary(trends.open(run), run, trends.shown(run))

    @routes.route("/trends/<run>/heat", query=HeatQuery, answer=TrendHeat)
    def trend_heat(run: str, query: HeatQuery) -> TrendHeat:
        """Modules by steps, each cell coloured by how far its value lies from its usual one."""
        other = None if query.other is None else trends.open(query.other)
        return trend_rows.heat(trends.open(run), other, query)

    @routes.route("/trends/<run>/tiles", query=TilesQuery, answer=TrendTiles)
    def trend_tiles(run: str, query: TilesQuery) -> TrendTiles:
        """The rows of the heat map as small lines."""
        other = None if query.other is None else trends.open(query.other)
        return trend_rows.tiles(trends.open(run), other, query)

    @routes.route("/trends/<run>/line", query=LineQuery, answer=TrendLine)
    def trend_line(run: str, query: LineQuery) -> TrendLine:
        """One series over the steps."""
        window = (query.first, query.last, query.points)
        key = (query.kind, query.name)
        return trend_views.line(trends.open(run), key, query.statistic, query.rank, window)

    @routes.route("/trends/<run>/scalars", query=ScalarsQuery, answer=TrendLines)
    def trend_scalars(run: str, query: ScalarsQuery) -> TrendLines:
        """Loss, learning rate, norms: all scalar series."""
        opened = trends.open(run)
        window = (None, None, query.points)
        keys = trend_views.summary(opened, run, "").scalars
        return TrendLines([trend_views.line(opened, key, "mean", None, window) for key in keys])

    @routes.route("/trends/<run>/alerts", answer=TrendAlerts)
    def trend_alerts(run: str) -> TrendAlerts:
        """What left its own past, one alert a cause."""
        return TrendAlerts(trend_views.alerts(trends.open(run)))

    @routes.route("/trends/<run>/parting", query=PartingQuery, answer=TrendParting)
    def trend_parting(run: str, query: PartingQuery) -> TrendParting:
        """The first step at which two runs part, beyond their noise."""
        return trend_views.parting(trends.open(run), trends.open(query.other))

    @routes.route("/trends/<run>/cell", query=CellQuery, answer=TrendCell)
    def trend_cell(run: str, query: CellQuery) -> TrendCell:
        """One step of a target on all ranks; comparisons of that step, or how to record it."""
        key = (query.kind, query.name)
        found = trends.comparisons(query.step)
        other = None if query.other is None else trends.open(query.other)
        return trend_views.cell(trends.open(run), other, key, query.step, query.statistic, found)

    return routes
