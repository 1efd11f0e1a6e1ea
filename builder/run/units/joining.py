"""Copies the rows of all parts of a plan into one file, in the order of the plan."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec

from builder.errors import InputError
from builder.run.build import store_unworked
from builder.run.units.outcome_bytes import outcome_of_bytes
from builder.run.units.plan_file import BuildPlan, Unit
from builder.run.units.unit_parts import PartState, local_file
from builder.storage.folder import Folder
from builder.work.outcome import PairOutcome
from builder.write.pair_store import store_failure
from builder.write.part import add_part, read_label
from builder.write.result_writer import Database
from builder.write.tables import VOLUME
from builder.write.volume_files import add_volume


class Parts:
    """The parts of a plan; those behind an address come into `scratch`, one at a time."""

    def __init__(
        self,
        plan: BuildPlan,
        parts: Folder,
        states: Sequence[PartState],
        scratch: Path,
        *,
        split: bool = False,
    ) -> None:
        self._plan, self._parts, self._scratch, self._split = plan, parts, scratch, split
        self._states = {state.unit: state for state in states}

    def gathered(self, database: Database) -> list[PairOutcome]:
        """Put every unit's rows into the database; a unit without a part is a failed pair.

        Split, the rows stay in files of their own, beside the database.

        Raises InputError for a part that says something else than its marker.
        """
        if self._split:
            with database.transaction() as connection:
                connection.execute(VOLUME.ddl)
        lost = store_unworked(database, self._plan.plan)
        return lost + [self._added(database, unit) for unit in self._plan.results]

    def _added(self, database: Database, unit: Unit) -> PairOutcome:
        state = self._states[unit.id]
        if not state.is_whole or state.marker is None:
            return store_failure(database, unit.pair, f"unit {state.state}: {state.told}")
        name = state.marker.file
        local = local_file(self._parts, name, self._scratch)
        try:
            label = read_label(local)
            if (label.plan, label.unit) != (self._plan.id, unit.id):
                raise sqlite3.DatabaseError(f"of plan {label.plan}, unit {label.unit}")
            add = add_volume if self._split else add_part
            return add(database, local, label, outcome_of_bytes(label.outcome))
        except (sqlite3.DatabaseError, msgspec.MsgspecError, TypeError) as error:
            if isinstance(error, sqlite3.OperationalError) and "disk" in str(error):
                raise
            raise InputError(
                f"{self._parts.text}/{name}: no part of unit {unit.id} ({error})",
                f"remove {self._parts.text}/{unit.id}.json and run the unit again",
            ) from error
        finally:
            if local.parent == self._scratch:
                local.unlink(missing_ok=True)
