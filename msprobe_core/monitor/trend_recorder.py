"""Keeps the trends of one rank: steps into the store at once, alerts and what they ask for behind.

A thread of its own looks for alerts, so that a step costs its training only the append. What only
an alert writes (`held`) waits in memory: the last `keep` steps of it become a small run of their
own, `flight-<step>`, which everything that reads trends can open.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from msprobe_core.format.alerts import Alert, question, sentence
from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.live_alerts import AlertWatch
from msprobe_core.monitor.step_values import Measured, StepValues
from msprobe_core.monitor.store import SeriesWriter, write_run
from msprobe_core.report import say

_MOST_WAITING = 64
"""Steps whose alerts may be behind: of 8,000 series 6 ms each (on a busy core), 16 MB in all."""
_LONGEST_WAIT, _LONGEST_END = 1.0, 10.0
"""Seconds. 64 steps take 0.4; what takes longer stands still."""


class Recorder:
    """Takes finished steps. Raises OSError when the folder cannot be made."""

    def __init__(
        self,
        run: Path,
        rank: int,
        facts: Mapping[str, object],
        *,
        keep_steps: int | None = None,
        keep: int = 0,
        alerts: bool = True,
    ) -> None:
        self._run, self._rank, self._facts = run, rank, facts
        write_run(run, facts)
        self._writer = SeriesWriter(run, rank, keep_steps)
        self._watch = AlertWatch() if alerts else None
        self._flight: deque[tuple[int, Measured]] = deque(maxlen=keep or None)
        self._held: list[TrendTarget] = []
        self._keeps = keep > 0
        self._found: queue.SimpleQueue[Alert] = queue.SimpleQueue()
        self._waiting: queue.Queue[StepValues | None] = queue.Queue()
        self._unseen: list[TrendTarget] = []
        self._passed_over = 0
        self._thread = threading.Thread(target=self._look_for_alerts, daemon=True)
        self._thread.start()

    def take(self, values: StepValues) -> None:
        """Append a step; it is the operating system's when this returns. Raises OSError."""
        self._writer.add_targets(values.main.new)
        self._writer.write(values.step, values.main.table)
        if self._watch is not None:
            self._look_later(values)

    def _look_later(self, values: StepValues) -> None:
        """A training that makes steps faster than they are looked at is not held up."""
        if self._waiting.qsize() >= _MOST_WAITING:
            self._unseen += values.main.new
            self._passed_over += 1
            return
        if self._unseen:
            new, self._unseen = [*self._unseen, *values.main.new], []
            values = replace(values, main=replace(values.main, new=new))
        self._waiting.put(values)

    def found(self, *, wait: bool = False) -> list[Alert]:
        """The alerts since the last call; `wait` a moment for those of the last step, too."""
        if wait:
            self._wait()
        alerts: list[Alert] = []
        while not self._found.empty():
            alerts.append(self._found.get())
        return alerts

    def close(self) -> None:
        """Finish what is waiting, as long as that takes no more than a moment."""
        self._waiting.put(None)
        self._thread.join(_LONGEST_END)
        if self._passed_over:
            say(
                f"trends: {self._passed_over} steps came too fast to be looked at for alerts; all "
                "are written: msprobe trend finds where they part"
            )
        self._writer.close()

    def leave(self) -> None:
        """In a process that was forked: write nothing, and wait for no thread: it has none."""
        self._writer.leave()

    def _wait(self) -> None:
        with self._waiting.all_tasks_done:
            self._waiting.all_tasks_done.wait_for(
                lambda: not self._waiting.unfinished_tasks, _LONGEST_WAIT
            )

    def _look_for_alerts(self) -> None:
        while (values := self._waiting.get()) is not None:
            try:
                self._look(values)
            except Exception as error:  # a monitor never ends a run
                say(f"alerts, step {values.step}: {type(error).__name__}: {error}")
            finally:
                self._waiting.task_done()
        self._waiting.task_done()

    def _look(self, values: StepValues) -> None:
        assert self._watch is not None
        if values.held is not None and self._keeps:
            self._held += values.held.new
            self._flight.append((values.step, values.held))
        alerts = self._watch.step(values.step, values.main.new, values.main.table)
        alerts += self._watch.disagree(values.step, values.differing)
        for alert in (replace(each, rank=self._rank) for each in alerts):
            self._writer.write_alert(alert.facts())
            self._found.put(alert)
            say(f"trends: {sentence(alert)}; {question(alert)}")
        if alerts and self._flight:
            self._write_flight(values.step, alerts)

    def _write_flight(self, step: int, alerts: Sequence[Alert]) -> None:
        """What was kept until an alert, and the alert itself: the small run says what it is of."""
        run = self._run / f"flight-{step}"
        write_run(run, {**self._facts, "flight": step})
        writer = SeriesWriter(run, self._rank)
        writer.add_targets(self._held)
        for number, measured in self._flight:
            writer.write(number, np.asarray(measured.table))
        for alert in alerts:
            writer.write_alert(replace(alert, rank=self._rank).facts())
        writer.close()
        self._flight.clear()
