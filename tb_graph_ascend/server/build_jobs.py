"""Runs builds, one at a time, each in a process of its own that can be stopped for real."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from builder.processes.own_imports import python_command
from tb_graph_ascend.logdirs import WORKSHOP, LogDirs
from tb_graph_ascend.server.build_messages import (
    Build,
    BuildRequest,
    BuildTask,
    Progress,
    RunningPair,
)
from tb_graph_ascend.server.errors import ConflictError, NotFoundError

_MOST_KEPT = 50
_GRACE_SECONDS = 3.0
_HEARTBEAT_SECONDS = 15.0
_decode = msgspec.json.Decoder(Progress).decode


class BuildJobs:
    """The builds since the server started."""

    def __init__(self, logdirs: LogDirs) -> None:
        self._logdirs = logdirs
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()
        atexit.register(self._stop_all)

    def start(self, wanted: BuildRequest) -> Build:
        """Begin a build; raises ConflictError while another one runs."""
        with self._lock:
            for job in self._jobs.values():
                if job.build.state == "running":
                    raise ConflictError(
                        f"a build of {job.build.problem} is running", "wait for it, or cancel it"
                    )
            started = _Job(wanted, self._logdirs)
            self._jobs[started.build.id] = started
            for old in list(self._jobs)[:-_MOST_KEPT]:
                del self._jobs[old]
        return started.build

    def all(self) -> list[Build]:
        """All builds, newest first."""
        with self._lock:
            return [job.build for job in reversed(self._jobs.values())]

    def get(self, id_: str) -> Build:
        """A build; raises NotFoundError."""
        return self._job(id_).build

    def follow(self, id_: str) -> Iterator[Build | None]:
        """A build each time it changes, up to its end; None where nothing changed for long."""
        return self._job(id_).follow()

    def finished(self, id_: str) -> Build:
        """A build when it has ended and what it left unfinished is removed."""
        return self._job(id_).finished()

    def cancel(self, id_: str) -> Build:
        """Stop a build and remove what it wrote; one that has ended stays as it is."""
        return self._job(id_).cancel()

    def _stop_all(self) -> None:
        for job in list(self._jobs.values()):
            job.cancel()

    def _job(self, id_: str) -> _Job:
        with self._lock:
            job = self._jobs.get(id_)
        if job is None:
            raise NotFoundError(f"no build {id_[:40]!r}", "the server may have been restarted")
        return job


class _Job:
    def __init__(self, wanted: BuildRequest, logdirs: LogDirs) -> None:
        self.build = Build(
            id=secrets.token_hex(8),
            state="running",
            problem=wanted.problem,
            benchmark=wanted.benchmark,
            done=0,
            total=0,
            running=[],
            log=[],
            error=None,
            database=None,
        )
        assert wanted.output is not None
        self._logdirs = logdirs
        # What is unfinished lies here alone: other builds may write into the same output.
        self._workshop = Path(wanted.output) / f"{WORKSHOP}{self.build.id}"
        self._changed = threading.Condition()
        # A file, not a pipe: nobody has to read along for the worker to go on.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `_watch`
        self._process = _start_worker(self._complaints)
        task = BuildTask(wanted, os.fspath(self._workshop))
        self._watcher = threading.Thread(target=self._watch, args=(task,), daemon=True)
        self._watcher.start()

    def finished(self) -> Build:
        self._watcher.join()
        return self.build

    def follow(self) -> Iterator[Build | None]:
        seen: Build | None = None
        while seen is None or seen.state == "running":
            with self._changed:
                if self.build is seen:
                    self._changed.wait(_HEARTBEAT_SECONDS)
                news = None if self.build is seen else self.build
            seen = news or seen
            yield news

    def cancel(self) -> Build:
        with self._changed:
            if self.build.state != "running":
                return self.build
            self._change(state="cancelled")
        self._stop()
        return self.build

    def _watch(self, task: BuildTask) -> None:
        complaint = ""
        with self._complaints, self._process as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(msgspec.json.encode(task))
                process.stdin.close()
                for line in process.stdout:
                    self._take(_decode(line))
            except (OSError, msgspec.MsgspecError) as error:
                complaint = str(error)
            code = process.wait()
            self._complaints.seek(0)
            complaint += self._complaints.read().decode("utf-8", "replace")
        self._end(code, complaint.strip())

    def _take(self, progress: Progress) -> None:
        with self._changed:
            if self.build.state != "running":
                return
            if progress.error is not None:
                self._change(state="failed", error=progress.error)
            elif progress.file is not None:
                file = self._logdirs.find(Path(progress.file))
                self._change(state="done", database=file.token if file is not None else None)
            elif progress.phase is not None:
                now = RunningPair(progress.step, progress.rank, progress.phase)
                self._change(total=progress.total, running=[*self._others(progress), now])
            else:
                log = [*self.build.log, progress.text or ""]
                running = self._others(progress)
                self._change(done=progress.done, total=progress.total, log=log, running=running)

    def _others(self, progress: Progress) -> list[RunningPair]:
        """The pairs worked on besides the one that is spoken of."""
        place = progress.step, progress.rank
        return [one for one in self.build.running if (one.step, one.rank) != place]

    def _end(self, code: int, complaint: str) -> None:
        with self._changed:
            if self.build.state == "running":
                cause = f"killed by signal {-code} (out of memory?)" if code < 0 else f"code {code}"
                text = f"the build process ended unexpectedly: {cause}\n{complaint}"
                self._change(state="failed", error=text.strip())
        self._clean_up()

    def _change(self, **facts: object) -> None:
        if facts.get("state", "running") != "running":
            facts["running"] = []
        self.build = msgspec.structs.replace(self.build, **facts)
        self._changed.notify_all()

    def _stop(self) -> None:
        _signal(self._process, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        # The workers of the build share its group; none may outlive it.
        _signal(self._process, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait()
        self._clean_up()

    def _clean_up(self) -> None:
        shutil.rmtree(self._workshop, ignore_errors=True)


def _start_worker(complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        python_command("tb_graph_ascend.server.build_worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        start_new_session=True,
    )


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.terminate()
    except ProcessLookupError:
        pass
