"""Build a result from dumps below the log folders, watch it, stop it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from flask import Response

from builder.dump.search import find_dumps
from builder.match.manual_file import mapping_path
from builder.results.database import ResultDatabase
from builder.storage.path_text import path_text
from tb_graph_ascend.logdirs import LogDirs
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.build_jobs import BuildJobs
from tb_graph_ascend.server.build_messages import (
    Build,
    BuildRequest,
    Builds,
    BuildWish,
    CancelRequest,
    DumpEntry,
    Dumps,
)
from tb_graph_ascend.server.errors import BadArgumentError, ConflictError
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace

_PATHS = ("problem", "benchmark", "output", "layer_mapping", "manual_mapping")


def resource(place: Workplace) -> Resource:
    """Routes of `/api/dumps` and `/api/builds`."""
    routes = Resource("builds")
    logdirs = place.library.logdirs
    jobs = BuildJobs(logdirs)

    @routes.route("/dumps", answer=Dumps, failures=(400,))
    def dumps() -> Dumps:
        """The dumps below the log folders, and the folders that a result may go to."""
        entries = [
            DumpEntry(
                path=os.fspath(dump.path),
                granularity=dump.granularity,
                steps=sorted({source.step for source in dump.sources}),
                ranks=sorted({source.rank for source in dump.sources}),
            )
            for dump in find_dumps(logdirs.folders)
        ]
        return Dumps(entries, [os.fspath(folder) for folder in logdirs.folders])

    @routes.route("/databases/<db>/build", answer=BuildWish)
    def rebuild(db: str) -> BuildWish:
        """How a result was built, with its manual pairs, ready to be built again."""
        return _wish(place.open(db), logdirs)

    @routes.route("/builds", answer=Builds, failures=(400,))
    def list_builds() -> Builds:
        """The builds since the server started, newest first."""
        return Builds(jobs.all())

    @routes.route(
        "/builds",
        method="POST",
        body=BuildRequest,
        answer=Build,
        failures=(400, 403, 404, 409, 415, 422),
    )
    def start(wanted: BuildRequest) -> Build:
        """Begin a build; one runs at a time."""
        named = _named_by(place.open(wanted.result)) if wanted.result is not None else {}
        return jobs.start(_confined(wanted, logdirs, named))

    @routes.route("/builds/<job>", answer=Build, failures=(400, 404))
    def show(job: str) -> Build:
        """A build and how far it is."""
        return jobs.get(job)

    @routes.route(
        "/builds/<job>",
        method="DELETE",
        body=CancelRequest,
        answer=Build,
        failures=(400, 403, 404, 415),
    )
    def cancel(job: str, _: CancelRequest) -> Build:
        """Stop a build for real and remove what it wrote."""
        return jobs.cancel(job)

    @routes.route("/builds/<job>/events", media_type="text/event-stream", failures=(400, 404))
    def events(job: str) -> Response:
        """Server-sent events: the build each time it changes, up to its end."""
        jobs.get(job)
        answer = Response(_events(jobs.follow(job)), mimetype="text/event-stream")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    return routes


def _events(changes: Iterator[Build | None]) -> Iterator[bytes]:
    for build in changes:
        # A comment now and then keeps proxies from closing the connection.
        yield b": \n\n" if build is None else b"data: " + encoded(build) + b"\n\n"


def _confined(wanted: BuildRequest, logdirs: LogDirs, named: Mapping[str, str]) -> BuildRequest:
    if not logdirs.folders:
        raise ConflictError("there is no log folder to build in", "start the server with one")
    given = {name: getattr(wanted, name) for name in _PATHS}
    given["output"] = given["output"] or os.fspath(logdirs.folders[0])
    inside = {
        name: os.fspath(_confine(name, path, logdirs, named)) if path is not None else None
        for name, path in given.items()
    }
    for name, path in inside.items():
        if path is not None and path_text(path) != path:  # the worker is told in JSON
            raise BadArgumentError(
                f"{name}: {path_text(path)[:200]} is no text in this locale", "rename the folder"
            )
    return msgspec.structs.replace(wanted, **inside)


def _confine(name: str, path: str, logdirs: LogDirs, named: Mapping[str, str]) -> Path:
    # What the result file itself was made of may be read again wherever it lies.
    confined = Path(path) if named.get(name) == path else _inside(path, logdirs)
    if confined is None:
        raise BadArgumentError(
            f"{name}: {path[:200]!r} is not below the log folders", "choose a path below them"
        )
    if not confined.exists():
        raise BadArgumentError(f"{name}: {path[:200]!r} does not exist", "choose another path")
    return confined


def _inside(path: str, logdirs: LogDirs) -> Path | None:
    """A path below the log folders, as it is or, as the interface prints it, relative to one."""
    if "\0" in path:
        return None
    below = [logdirs.confine(folder / path) for folder in logdirs.folders]
    candidates = [one for one in below if one is not None]
    return next((one for one in candidates if one.exists()), candidates[0] if candidates else None)


def _named_by(opened: OpenDatabase) -> dict[str, str]:
    """The paths that a result file of ours names as what it was made of, by their option.

    A manual mapping is not among them: it lies beside the file.
    """
    if not isinstance(opened.database, ResultDatabase):
        return {}
    summary, options = opened.database.summary(), opened.database.stored.options
    paths = {
        "problem": summary.problem,
        "benchmark": summary.benchmark,
        "layer_mapping": options.get("layer_mapping"),
    }
    given = {name: path for name, path in paths.items() if isinstance(path, str) and path}
    return {name: _found(path, opened.file.path) for name, path in given.items()}


def _found(path: str, result: Path) -> str:
    """A path as it is, or where it is relative and not here, as seen from a folder above the file.

    A comparison is built in one folder and served from another: `-tp problem -o graph_output`.
    """
    if Path(path).is_absolute() or Path(path).exists():
        return path
    seen = (folder / path for folder in result.resolve().parents)
    return next((os.fspath(one) for one in seen if one.exists()), path)


def _wish(opened: OpenDatabase, logdirs: LogDirs) -> BuildWish:
    """How a result was built; a session's pairs are in no file and are not part of it."""
    database = opened.database
    options = database.stored.options if isinstance(database, ResultDatabase) else {}
    mapping = mapping_path(opened.file.path)
    given = _named_by(opened)
    usable = {name: path for name, path in given.items() if Path(path).exists()}
    manual = mapping if mapping.exists() else options.get("manual_mapping")
    if manual is not None:
        given["manual_mapping"] = os.fspath(manual)
        inside = _inside(given["manual_mapping"], logdirs)
        if inside is not None and inside.exists():
            usable["manual_mapping"] = os.fspath(inside)
    return BuildWish(
        problem=usable.get("problem"),
        benchmark=usable.get("benchmark"),
        output=os.fspath(opened.file.path.parent),
        overflow_check=bool(options.get("overflow_check")),
        fuzzy_match=bool(options.get("fuzzy_match")),
        threshold=opened.database.threshold,
        layer_mapping=usable.get("layer_mapping"),
        manual_mapping=usable.get("manual_mapping"),
        outside=[path for name, path in given.items() if name not in usable],
        command=_command(given, opened.file.path.parent, options),
    )


_OPTIONS = {
    "problem": "-tp",
    "benchmark": "-gp",
    "layer_mapping": "-lm",
    "manual_mapping": "--manual_mapping",
}
_FLAGS = {"overflow_check": "-oc", "fuzzy_match": "-fm"}


def _command(given: Mapping[str, str], output: Path, options: Mapping[str, object]) -> str:
    """The same build in a shell."""
    words = ["msprobe", "graph_visualize"]
    for name, option in _OPTIONS.items():
        words += [option, given[name]] if name in given else []
    words += ["-o", os.fspath(output)]
    words += [flag for name, flag in _FLAGS.items() if options.get(name)]
    if "threshold" in options:
        words += ["--threshold", str(options["threshold"])]
    return shlex.join(words)
