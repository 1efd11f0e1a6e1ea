"""Pictures of one value, computed from the tensors that the dump holds."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from builder.dump.tensor_data import TensorData
from builder.dump.tensor_files import TensorFileError, open_tensor
from builder.results.dump_files import tensor_file
from builder.results.reading import ReadsPairs
from builder.results.records import NodeDetails, Value, ValuePair
from tb_graph_ascend.server.drawing import Picture, draw
from tb_graph_ascend.server.errors import ConflictError, NotFoundError
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace

MOST_BYTES = 1 << 29
_Parts = Annotated[int, msgspec.Meta(ge=1, le=256)]


class PictureQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fine the picture is: bins of the histograms, cells of the heat map in each direction."""

    bins: _Parts = 64
    cells: _Parts = 64


def resource(place: Workplace) -> Resource:
    """The route of `…/values/<value>/picture`."""
    routes = Resource("pictures")

    @routes.route(
        "/databases/<db>/nodes/<int:node>/values/<int:value>/picture",
        query=PictureQuery,
        answer=Picture,
        failures=(400, 404, 409, 422),
    )
    def picture(db: str, node: int, value: int, query: PictureQuery) -> Picture:
        """Histograms of both sides and of the error, and where in the tensor the error sits."""
        opened = place.open(db)
        details = opened.database.details(node)
        pair = _pair(details, value)
        # Two values that a person paired by hand make another picture than one of them alone.
        shown = tuple(v.id if v is not None else None for v in (pair.problem, pair.benchmark))
        key = (opened.file.version, shown, query.bins, query.cells)
        make = partial(_draw, opened.database, details, pair, query)
        return place.library.pictures.get(key, make)

    return routes


def _pair(details: NodeDetails, value: int) -> ValuePair:
    for pair in details.values:
        if value in (getattr(pair.problem, "id", None), getattr(pair.benchmark, "id", None)):
            return pair
    raise NotFoundError(f"node {details.node.id} has no value {value}", "open the node again")


def _draw(
    database: ReadsPairs, details: NodeDetails, pair: ValuePair, query: PictureQuery
) -> Picture:
    nodes = [node for node in (details.node, details.partner) if node is not None]
    folders = {node.side: database.dump_folder(node.graph) for node in nodes}
    files = [
        _file(folders.get("problem"), pair.problem),
        _file(folders.get("benchmark"), pair.benchmark),
    ]
    if not any(files):
        raise ConflictError(
            f"{pair.role}.{pair.path} has no dumped tensor", 'dump with "task": "tensor"'
        )
    shown = pair.problem or pair.benchmark
    shape = (shown.shape if shown is not None else None) or []
    with ExitStack() as stack:
        problem, benchmark = (_open(stack, file) if file is not None else None for file in files)
        return draw(problem, benchmark, shape, query.bins, query.cells)


def _file(folder: Path | None, value: Value | None) -> Path | None:
    if value is None or value.file is None or folder is None:
        return None
    path = tensor_file(folder, value.file)
    if path is None:
        raise ConflictError(
            f"{folder}: has no tensor {value.file[:200]} any more", "put the dump back in its place"
        )
    if path.stat().st_size > MOST_BYTES:
        raise ConflictError(
            f"{path}: larger than {MOST_BYTES >> 20} MiB", "look at it with torch.load"
        )
    return path


def _open(stack: ExitStack, path: Path) -> TensorData:
    try:
        return stack.enter_context(open_tensor(path))
    except TensorFileError as error:
        raise ConflictError(f"{path}: {error}", "dump it again") from None
