"""Builds a new result from two dumps, in a process of its own, where that was allowed at the start.

The process that builds may not share the server's threads, and dies with it.
"""

from __future__ import annotations

import os

from msprobe.answers.arguments import OfNewResult, OfResult
from msprobe.answers.overview import ResultOverview, open_result
from msprobe.answers.result_folder import ResultFolder
from msprobe.errors import AnswerError
from tb_graph_ascend.server.build_messages import BuildRequest


def build_result(folder: ResultFolder, asked: OfNewResult) -> ResultOverview:
    """Compare two dumps below the folder, and open the result."""
    if folder.build_into is None:
        raise AnswerError(
            "build_result: nothing may be built here",
            "start again with --build-into FOLDER, a folder below the one that is served",
        )
    wanted = BuildRequest(
        problem=os.fspath(folder.dump("problem", asked.problem)),
        benchmark=os.fspath(folder.dump("benchmark", asked.benchmark)),
        output=os.fspath(folder.build_into),
        threshold=asked.threshold,
        overflow_check=True,  # as graph_visualize and the library have it by default
    )
    made = folder.builds.finished(folder.builds.start(wanted).id)
    file = None if made.database is None else folder.logdirs.resolve(made.database)
    if file is None:
        raise AnswerError(
            f"build_result: {made.error or 'the build made no result'}",
            "look at the dumps with `msprobe inspect`",
        )
    return open_result(folder, OfResult(result=file.shown, offset=asked.offset))
