"""The table of `msprobe compare` for one step and rank, as a download."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from flask import Response, request

from builder.dump.sources import is_rank_folder
from builder.match.manual_file import MappedPair
from builder.results.database import ResultDatabase
from builder.results.manual.stored_pairs import stored_pairs
from builder.results.reading import ReadsPairs, Results
from builder.results.records import Graph
from builder.tables.comparing import SheetForm, write_pair_table
from builder.work.options import BuildOptions
from tb_graph_ascend.server.errors import ConflictError, NotFoundError
from tb_graph_ascend.server.overlay import tolerance_of
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace

_MEDIA = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


_PAIR = "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>"
_FAILURES = (400, 404, 409, 422)


def resource(place: Workplace) -> Resource:
    """The routes `…/export/compare.csv` and `…/export/compare.xlsx`."""
    routes = Resource("compare_tables")

    @routes.route(f"{_PAIR}/export/compare.csv", media_type=_MEDIA["csv"], failures=_FAILURES)
    def compare_csv(db: str, step: int, rank: int) -> Response:
        """Every value of a pair with its measures and verdict, in the columns of msprobe."""
        return _table(place, db, step, rank, "csv")

    @routes.route(f"{_PAIR}/export/compare.xlsx", media_type=_MEDIA["xlsx"], failures=_FAILURES)
    def compare_xlsx(db: str, step: int, rank: int) -> Response:
        """The same as a spreadsheet."""
        return _table(place, db, step, rank, "xlsx")

    return routes


def _table(place: Workplace, db: str, step: int, rank: int, form: SheetForm) -> Response:
    opened = place.open(db)
    results = opened.database
    if not results.comparison:
        raise ConflictError("the file holds one run alone", "compare it with another run")
    # A broken file of pairs is said.
    place.manual.seen_by(request).strictly(opened.file, opened.built)
    pair = results.pair(step, rank)
    # The table is made anew from the dumps: it shows arguments and texts that the file leaves out.
    folders = _dump_of(results, pair.problem), _dump_of(results, pair.benchmark)
    pairs: list[MappedPair] = []
    if isinstance(results, ResultDatabase) and pair.problem is not None:
        pairs = stored_pairs(
            results.stored.engine_at(pair.problem.id), results.patches, pair.problem.id
        )
    with TemporaryDirectory() as scratch:
        file = write_pair_table(folders, Path(scratch), form, _options(results), pairs)
        answer = Response(file.read_bytes(), mimetype=_MEDIA[form])
    name = f"compare_result_step{step}_rank{rank}.{form}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _options(results: Results) -> BuildOptions:
    """What the build was told that a second comparison needs; mappings are in its pairs."""
    told = results.stored.options if isinstance(results, ResultDatabase) else {}
    if told.get("data_mapping"):
        raise ConflictError(
            "single values were paired by a data mapping", "run msprobe compare with -dm"
        )
    return BuildOptions(
        threshold=results.threshold,
        tolerance=tolerance_of(told),
        fuzzy_match=bool(told.get("fuzzy_match")),
    )


def _dump_of(results: ReadsPairs, graph: Graph | None) -> Path:
    folder = results.dump_folder(graph.id) if graph is not None else None
    if folder is None or not is_rank_folder(folder):
        raise NotFoundError(
            f"the dump that this was compared from is not at {folder} any more",
            "run msprobe compare where the dumps are",
        )
    return folder
