"""What a step leaves on disk: its three files and its error log.

A disk that fails ends the dump of this process, never the run.
"""

from __future__ import annotations

import shutil

from msprobe_core.errors import WriteError
from msprobe_core.format import ERROR_LOG
from msprobe_core.report import say
from msprobe_core.writer.rank_dir import make_rank_dir
from msprobe_core.writer.step_files import Header, StepFiles

StackGroup = tuple[list[str], str]
"""Names of entries and the stack that they share, as a JSON list of frames."""


class StepOutput:
    """The folder of one step. Raises OSError when it cannot be made.

    Without a rank it is called `<unranked><pid>`.
    """

    def __init__(self, dump_path: str, step: int, rank: int | None, unranked: str = "proc") -> None:
        self.directory, moved = make_rank_dir(dump_path, step, rank, unranked)
        if moved is not None:
            say(f"an earlier dump at {self.directory} was kept as {moved.name}")
        self.failed = self.left = False
        self._files: StepFiles | None = None
        self._appended = 0

    def open_files(self, header: Header, extra_info: bool) -> None:
        """Create the files. Raises OSError as the file system does."""
        self._files = StepFiles(self.directory, header, extra_info)

    def append(
        self,
        entries: list[str],
        parents: list[tuple[str, str | None]],
        stacks: list[StackGroup],
        passing: list[str],
    ) -> None:
        """Add what is new to the files; `passing` are calls that leave no values."""
        is_new = entries or parents or stacks or passing
        if self.failed or self.left or self._files is None or not is_new:
            return
        self._appended += 1
        try:
            self._files.append(entries, parents, stacks, passing)
        except OSError as error:
            self.fail(error)

    def complete(self, notes: dict[str, str], groups: list[StackGroup]) -> int:
        """Close the files as complete; the bytes written. `groups` are all stacks of the step."""
        if self.failed or self.left or self._files is None:
            return 0
        try:
            return self._files.complete(notes, groups if self._appended > 1 else None)
        except OSError as error:
            self.fail(error)
            return 0

    def discard(self) -> None:
        """Remove the folder, and that of the step when no other rank's is left in it."""
        shutil.rmtree(self.directory, ignore_errors=True)
        try:
            self.directory.parent.rmdir()
        except OSError:  # other ranks still have theirs, or removed it first
            return

    def abandon(self, reason: str) -> None:
        """Close the files as incomplete, with the reason in the error log."""
        if self.failed or self.left:
            return
        self.report("the dump", RuntimeError(reason))
        self.failed = True
        self._abandon()

    def leave(self) -> None:
        """Close the files as they are, in a process that was forked: they are its parent's."""
        self.left = True
        if self._files is not None:
            self._files.leave()

    def fail(self, error: OSError) -> None:
        """End the dump of this process after a disk error; the run goes on."""
        if self.failed or self.left:
            return
        self.failed = True
        say(f"{self.directory}: {error.strerror or error}; dumping has ended, the run goes on")
        self._abandon()

    def _abandon(self) -> None:
        try:
            if self._files is not None:
                self._files.abandon()
        except OSError:  # the folder may be gone
            return

    def report(self, path: str, error: BaseException) -> None:
        """Note a value that could not be read, in one line of the error log."""
        if self.left:
            return
        if isinstance(error, WriteError):
            self.fail(error)
            return
        try:
            text = " ".join(str(error).split())
        except Exception:  # an error of the user's may fail to word itself
            text = ""
        try:
            with (self.directory / ERROR_LOG).open("a", encoding="utf-8", errors="replace") as log:
                log.write(f"{path}: {type(error).__name__}: {text}\n")
        except OSError as failure:
            self.fail(failure)
