"""The folder that a program may ask about: its results and dumps, and nothing outside of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from builder.results.cache import Cache
from builder.results.followers.step import StepFollowers, step_followers
from builder.results.open_results import open_results
from builder.results.reading import Results
from msprobe.answers.shown_paths import ShownPaths
from msprobe.errors import AnswerError
from tb_graph_ascend.logdirs import LogDirs, ResultFile
from tb_graph_ascend.server.build_jobs import BuildJobs

_MOST_OPEN = 4
_MOST_STEPS = 2  # of each file: an agent follows one way, which may lead into the step before
_NAMED = 100  # characters of a wrong name that an error repeats


@dataclass(frozen=True, slots=True)
class _Opened:
    """A result file that is open, with the steps that were asked about last."""

    results: Results
    steps: Cache[StepFollowers] = field(default_factory=lambda: Cache(_MOST_STEPS))


class ResultFolder:
    """Results and dumps below one folder; `build_into` is where new results go, None for nowhere.

    Raises AnswerError for a folder that is none, or one to build into that is not below it.
    """

    def __init__(self, folder: Path, build_into: Path | None = None) -> None:
        self.root = _existing(folder)
        self.logdirs = LogDirs([self.root])
        self.paths = ShownPaths([folder, self.root, Path.cwd()])
        self.build_into = None if build_into is None else self._building(build_into)
        self.builds = BuildJobs(self.logdirs)
        self._open: Cache[_Opened] = Cache(_MOST_OPEN, lambda old: old.results.close())

    def results(self) -> list[ResultFile]:
        """All result files, newest first; looked for anew, for builds add some."""
        return LogDirs([self.root]).files()

    def result(self, name: str) -> ResultFile:
        """A result by its path below the folder; raises AnswerError."""
        file = self.logdirs.find(self._below(name, "result"))
        if file is None:
            raise AnswerError(
                f"result: {name[:_NAMED]!r} is no result file below the folder",
                "take one that list_results names",
            )
        return file

    def open(self, file: ResultFile) -> Results:
        """A result file, kept open while it is asked about."""
        return self._opened(file).results

    def followers(self, file: ResultFile, step: int, rank: int) -> StepFollowers:
        """What follows from what in a step and rank, kept: a step is read whole for one node."""
        opened = self._opened(file)
        return opened.steps.get((step, rank), lambda: step_followers(opened.results, step, rank))

    def stop_builds(self) -> None:
        """Stop what is being built, and remove what it wrote."""
        for build in self.builds.all():
            self.builds.cancel(build.id)

    def dump(self, argument: str, name: str) -> Path:
        """A dump by its path below the folder; raises AnswerError."""
        path = self.logdirs.confine(self._below(name, argument))
        if path is None or not path.is_dir():
            raise AnswerError(
                f"{argument}: {name[:_NAMED]!r} is no folder below the one that is served",
                "give the path of a dump below it",
            )
        for link in _links(path):
            if self.logdirs.confine(link) is None:
                raise AnswerError(
                    f"{argument}: {self.shown(link)} is a link out of the folder that is served",
                    "copy what it leads to",
                )
        return path

    def shown(self, path: Path) -> str:
        """A path as it is named below the folder."""
        return self.paths.path(os.fspath(path))

    def _opened(self, file: ResultFile) -> _Opened:
        return self._open.get(file.version, lambda: _Opened(open_results(file.path)))

    def _below(self, name: str, argument: str) -> Path:
        """The path that a name stands for; links are followed by whoever opens it."""
        parts = name.replace("\\", "/").split("/")
        if "\0" in name or ".." in parts or Path(name).is_absolute() or name[1:2] == ":":
            raise AnswerError(
                f"{argument}: {name[:_NAMED]!r} leads out of the folder that is served",
                "give a path below it, as list_results names them",
            )
        return self.root / name

    def _building(self, folder: Path) -> Path:
        into = _existing(folder)
        if not into.is_relative_to(self.root):
            raise AnswerError(
                f"--build-into {folder}: is not below {self.root}", "name a folder below it"
            )
        return into


def _links(folder: Path) -> Iterator[Path]:
    """All links at any depth below a folder; those to folders are not followed."""
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield Path(entry.path)
                elif entry.is_dir():
                    pending.append(Path(entry.path))


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise AnswerError(f"{folder}: is no folder", "name one that exists")
    return folder.resolve()
