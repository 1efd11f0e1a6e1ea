"""The diagnosis: where the problem run begins to differ."""

from __future__ import annotations

from typing import Annotated

import msgspec

from builder.results.records import Findings
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace

# Helper processes of a run have negative ranks.
Number = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**53)]


class FindingQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of which step and rank; left out means all."""

    step: Number | None = None
    rank: Number | None = None


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases/<db>/findings`."""
    routes = Resource("findings")

    @routes.route("/databases/<db>/findings", query=FindingQuery, answer=Findings)
    def findings(db: str, query: FindingQuery) -> Findings:
        """The suspects, best first."""
        return place.open(db).database.findings(query.step, query.rank)

    return routes
