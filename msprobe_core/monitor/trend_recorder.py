"""Keeps the trends of one rank: steps into the store at once, alerts and what they ask for behind.

A thread of its own looks for alerts, so that a step costs its training only the append. What only
an alert writes (`held`) waits in memory: the last `keep` steps of it become a small run of their
own, `flight-<step>`, which everything that reads trends can open.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from msprobe_core.format.alerts import Alert, question, sentence
from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.live_alerts import AlertWatch
from msprobe_core.monitor.step_values import Measured, StepValues
from msprobe_core.monitor.store import SeriesWriter, write_run
from msprobe_core.report import say


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
        self._thread = threading.Thread(target=self._look_for_alerts, daemon=True)
        self._thread.start()

    def take(self, values: StepValues) -> None:
        """Append a step; it is the operating system's when this returns. Raises OSError."""
        self._writer.add_targets(values.main.new)
        self._writer.write(values.step, values.main.table)
        if self._watch is not None:
            self._waiting.put(values)

    def found(self, *, wait: bool = False) -> list[Alert]:
        """The alerts since the last call; `wait` for those of the last step, too."""
        if wait:
            self._waiting.join()
        alerts: list[Alert] = []
        while not self._found.empty():
            alerts.append(self._found.get())
        return alerts

    def close(self) -> None:
        """Finish what is waiting."""
        self._waiting.put(None)
        self._thread.join()
        self._writer.close()

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
            self._write_flight(values.step)

    def _write_flight(self, step: int) -> None:
        run = self._run / f"flight-{step}"
        write_run(run, {**self._facts, "flight": step})
        writer = SeriesWriter(run, self._rank)
        writer.add_targets(self._held)
        for number, measured in self._flight:
            writer.write(number, np.asarray(measured.table))
        writer.close()
        self._flight.clear()
