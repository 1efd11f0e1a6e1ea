"""A child of this process that has torch already: most programs run shorter than its import."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO


class Forked:
    """Runs a function with arguments of its own and an environment of its own; never in threads."""

    def __init__(
        self, main: Callable[[], None], words: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._files = [_file(), _file()]
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if not self._pid:
            self._child(main, words, environment)
        self.returncode: int | None = None

    def _child(
        self, main: Callable[[], None], words: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        code = 1
        try:
            for number, file in enumerate(self._files, 1):
                os.dup2(file.fileno(), number)
            # Whoever reads what this process prints (a test does) reads nothing of its children.
            sys.stdout, sys.stderr = (
                os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2)
            )
            os.environ.update(environment)
            os.chdir(tempfile.gettempdir())
            sys.argv = [str(word) for word in words]
            main()
            code = 0
        except BaseException:  # whatever a tool raises ends this child alone
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait(self, limit: float) -> bool:
        """Whether it has ended within so many seconds."""
        ended = time.monotonic() + limit
        while self.returncode is None:
            done, status = os.waitpid(self._pid, os.WNOHANG)
            if done:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > ended:
                return False
            else:
                time.sleep(0.005)
        return True

    def kill(self) -> None:
        """End it, if it has not ended, and close what it printed."""
        if self.returncode is None:
            os.kill(self._pid, signal.SIGKILL)
            self.wait(10.0)
        for file in self._files:
            file.close()

    def printed(self) -> tuple[str, str]:
        """Standard output and standard error, once it has ended."""
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read())
        return texts[0], texts[1]


def here(path: str) -> bool:
    """Whether an interpreter is this one, so that its children can be forked."""
    return hasattr(os, "fork") and Path(path).absolute() == Path(sys.executable).absolute()


def _file() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8")
