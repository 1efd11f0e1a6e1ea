"""The lifecycle of a debugger: steps and ranks, what is recorded when, and the end.

What a user does wrong is raised; what goes wrong in recording ends the dump, never his step.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

from msprobe_core.capture.framework import Framework, StepRecorder
from msprobe_core.capture.stacks import StackBook
from msprobe_core.config import Config
from msprobe_core.config.slices import Slice, is_schedule, slice_of_request
from msprobe_core.errors import ConfigError, LifecycleError
from msprobe_core.format.layout import parse_step_dir
from msprobe_core.report import say
from msprobe_core.writer.rank_dir import rename_to_rank

_MOST_STACKS = 100_000


class Service:
    """Owns the step counter and the recorder of the open step."""

    def __init__(self, config: Config, reread: Callable[[], Config], framework: Framework) -> None:
        self.config = config
        self._framework = framework
        self._reread = reread
        self._step = 0
        self._rank_id: int | None = None
        self._recorder: StepRecorder | None = None
        self._unranked: dict[tuple[Path, str], tuple[int, int]] = {}
        self._ended = self._said_forked = False
        self._stacks = StackBook()
        self._seen = _Seen()
        self._folder = _here()
        atexit.register(self.close)
        _SERVICES.add(self)

    @property
    def is_running(self) -> bool:
        """Whether recording is on at this moment."""
        return self._recorder is not None and self._recorder.running

    @property
    def recorder(self) -> StepRecorder | None:
        """The open step's recorder, None when the step is not recorded."""
        return self._recorder

    def start(
        self,
        model: object,
        token_range: list[int] | None,
        rank_id: int | None,
        scheduled_tokens: dict[str, Any] | None,
        parallel: dict[str, Any] | None = None,
    ) -> None:
        """Begin or go on to record the current step."""
        if self._said_forked:
            say("start in a forked process: the dump is its parent's, nothing is recorded here")
            self._said_forked = False
        if self._ended or self.is_running:
            return
        self._reload()
        self._check_model(model, token_range)
        if rank_id is not None:
            self._rank_id = _checked_rank(rank_id)
        if not self._is_selected() or not self._has_request(scheduled_tokens):
            return
        if self._recorder is None:
            self._recorder = self._open()
        if self._recorder is None or self._recorder.failed:
            return
        if scheduled_tokens is not None:
            self._recorder.notes["scheduled_tokens"] = json.dumps(scheduled_tokens, default=str)
        self._recorder.slices = self._slices(scheduled_tokens)
        tokens = None if token_range is None else (token_range[0], token_range[1])
        self._safely("start", self._recorder.start, model, tokens, parallel)

    def stop(self) -> None:
        """Stop recording; the step stays open."""
        if self._recorder is not None:
            self._safely("stop", self._recorder.stop)

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Record one value by name; at level debug this alone makes an entry."""
        if not name or not isinstance(name, str):
            raise LifecycleError(f"save(…, name={name!r}); give the value a name")
        if self._recorder is None and not self._ended and self._is_selected():
            self._recorder = self._open()
        if self._recorder is not None and not self._recorder.failed:
            self._safely("save", self._recorder.save, variable, name, save_backward)

    def module_dump(self, module: object, name: str) -> None:
        """Record one module alone. Raises LifecycleError for what is no module or name."""
        if not self._framework.is_module(module) or not isinstance(name, str) or not name:
            raise LifecycleError(f"module_dump({module!r}, {name!r}); give a module and its name")
        if self._recorder is not None and self.is_running:
            self._safely("module_dump", self._recorder.begin_single, module, name)

    def module_dump_end(self) -> None:
        """Record everything again."""
        if self._recorder is not None:
            self._safely("module_dump_end", self._recorder.end_single)

    def step(self, dump: bool) -> None:
        """End the step and count on."""
        recorder, self._recorder = self._recorder, None
        self._step += 1
        if recorder is None:
            return
        self._safely("step", recorder.complete)
        self._seen.count(recorder)
        if recorder.failed:
            self._ended = True
        elif not dump:
            recorder.discard()
        else:
            self._name_by_rank(recorder.directory)

    def set_init_step(self, step: int) -> None:
        """Count from `step` on. Raises LifecycleError once a step is open."""
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            raise LifecycleError(f"set_init_step({step!r}); give an integer from 0 up")
        if self._recorder is not None:
            raise LifecycleError("set_init_step after start; call it before the training loop")
        self._step = step

    def close(self) -> None:
        """Complete the open step and say what a selection failed to match."""
        atexit.unregister(self.close)
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            self._safely("close", recorder.complete)
            self._seen.count(recorder)
            if not recorder.failed:
                self._name_by_rank(recorder.directory)
        if not self._ended:
            self._seen.say_unmatched(self.config)
        self._ended = True

    def forked(self) -> None:
        """Leave an open step to the parent: this process is a copy of it.

        Without an open step the copy may record steps of its own.
        """
        self._unranked = {}
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            self._ended = self._said_forked = True
            recorder.leave()

    def _safely(self, what: str, run: Callable[..., None], *values: object) -> None:
        """Run a part of recording; what it raises ends the dump, and is said."""
        try:
            run(*values)
        except LifecycleError:  # what the user gave
            raise
        except Exception as error:  # nothing of this may reach the user's step
            self._ended = True
            reason = f"{type(error).__name__}: {error}"
            say(f"{what}: {reason}; dumping has ended, the run goes on")
            recorder, self._recorder = self._recorder, None
            if recorder is not None:
                recorder.abandon(reason)

    def _reset_status(self) -> None:
        """Begin again at step 0 (inference engines call this between phases)."""
        self.step(True)
        self._step = 0
        self._ended = False

    def _reload(self) -> None:
        if self.config.dump_enable is None or self._recorder is not None:
            return
        try:
            self.config = self._reread()
        except ConfigError as error:
            say(f"{error}; the settings of before stay in force")

    def _has_request(self, scheduled_tokens: dict[str, Any] | None) -> bool:
        """Whether the step works on the request that alone is recorded, where one is."""
        request = self.config.request_id
        if request is None or scheduled_tokens is None:
            return True
        if not is_schedule(scheduled_tokens):
            raise LifecycleError(
                f"start(scheduled_tokens={scheduled_tokens!r}); give the number of tokens of each "
                "request, as {'request': 3}"
            )
        return request in scheduled_tokens

    def _slices(self, scheduled_tokens: dict[str, Any] | None) -> tuple[Slice, ...]:
        """The parts of tensors that are recorded in this step, none for all."""
        config = self.config
        if config.request_id is None or scheduled_tokens is None:
            return config.slice
        part = slice_of_request(config.request_id, scheduled_tokens)
        return config.slice if part is None else (*config.slice, part)

    def _check_model(self, model: object, token_range: list[int] | None) -> None:
        if model is None and self.config.records_modules and not self.config.records_kernels:
            raise LifecycleError(
                f"level {self.config.level!r} records modules; call start(model=…) or set level L1"
            )
        if token_range is not None:
            if not self._framework.is_module(model):
                raise LifecycleError(
                    "token_range counts the model's calls; call start(model=…) with it"
                )
            _check_tokens(token_range)

    def _is_selected(self) -> bool:
        config = self.config
        if config.dump_enable is False:
            return False
        rank = self._rank()
        self._seen.steps.add(self._step)
        self._seen.ranks.add(rank)
        if config.rank and rank is not None and rank not in config.rank:
            return False
        return not config.step or self._step in config.step

    def _rank(self) -> int | None:
        return self._rank_id if self._rank_id is not None else self._framework.rank()

    def _open(self) -> StepRecorder | None:
        try:
            if len(self._stacks) > _MOST_STACKS:  # a run that makes code all the time
                self._stacks = StackBook()
            rank = self._rank()
            path = str(self._folder / self.config.dump_path)
            config = replace(self.config, dump_path=path)
            return self._framework.open_step(config, self._step, rank, self._stacks)
        except LifecycleError:  # what the user gave
            raise
        except Exception as error:  # nothing of this may reach the user's step
            self._ended = True
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            say(f"{self.config.dump_path}: {reason}; nothing is dumped, the run goes on")
            return None

    def _name_by_rank(self, directory: Path) -> None:
        """Rename `proc<pid>` folders once the rank is known, so that a run stays together."""
        if directory.name.startswith("proc"):
            self._note_unranked(directory)
        rank = self._rank()
        if rank is None:
            return
        for each in self._unranked_folders():
            try:
                rename_to_rank(each, rank)
            except OSError as error:
                say(f"{each}: cannot be renamed to rank{rank} ({error.strerror or error})")
        self._unranked = {}

    def _note_unranked(self, directory: Path) -> None:
        """Keep the first and last step of each place: a run without a rank may make millions."""
        step = parse_step_dir(directory.parent.name)
        if step is None:
            return
        place = directory.parent.parent, directory.name
        first, last = self._unranked.get(place, (step, step))
        self._unranked[place] = min(first, step), max(last, step)

    def _unranked_folders(self) -> Iterator[Path]:
        for (root, name), (first, last) in self._unranked.items():
            folders = (root / f"step{step}" / name for step in range(first, last + 1))
            yield from (folder for folder in folders if folder.is_dir())


def _here() -> Path:
    """The folder that a relative dump_path is below, even when the program leaves it later."""
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path()


_SERVICES: WeakSet[Service] = WeakSet()


def _in_the_child() -> None:
    for service in list(_SERVICES):
        service.forked()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_in_the_child)


class _Seen:
    """What came by, to tell at the end which selection matched nothing."""

    def __init__(self) -> None:
        self.steps: set[int] = set()
        self.ranks: set[int | None] = set()
        self.entries = self.saved = 0

    def count(self, recorder: StepRecorder) -> None:
        """Add a step that has ended."""
        self.entries += recorder.entry_count
        self.saved += recorder.saved_tensors

    def say_unmatched(self, config: Config) -> None:
        """Say which selection left nothing over."""
        if config.tensor_list and self.entries and not self.saved:
            say(f"no tensor was saved: no entry matched {list(config.tensor_list)}")
        if self.entries or not self.steps:
            return
        ranks = {rank for rank in self.ranks if rank is not None}
        if config.step and not self.steps & config.step:
            selected, had = sorted(config.step), _span(self.steps)
            say(f"nothing was dumped: step selects {selected}, the run had {had}")
        elif config.rank and ranks and not ranks & config.rank:
            say(f"nothing was dumped: rank selects {sorted(config.rank)}, this is {_span(ranks)}")
        elif config.scope or config.list:
            names = [*config.scope, *config.list]
            say(f"nothing was dumped: no entry matched {names}; compare with a dump without them")


def _span(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _check_tokens(token_range: object) -> None:
    ends = token_range if isinstance(token_range, (list, tuple)) else ()
    if len(ends) != 2 or not all(type(end) is int for end in ends) or not 0 <= ends[0] <= ends[1]:
        raise LifecycleError(f"token_range is {token_range!r}; give [first, last], counted from 0")


def _checked_rank(rank_id: int) -> int:
    if isinstance(rank_id, bool) or not isinstance(rank_id, int) or rank_id < 0:
        raise LifecycleError(f"start(rank_id={rank_id!r}); give an integer from 0 up")
    return rank_id
