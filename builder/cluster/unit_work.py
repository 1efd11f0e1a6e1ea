"""Works on one unit of a plan: brings its dumps here if need be, compares them, puts its part."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from builder.build import tool_version
from builder.cluster.dump_places import Brought, brought
from builder.cluster.outcome_bytes import outcome_bytes
from builder.cluster.parts import Marker, mark, state_of
from builder.cluster.plan_file import unit_id
from builder.errors import BuilderError
from builder.pipeline.memory import json_bytes
from builder.pipeline.outcome import PairOutcome
from builder.pipeline.pair import Instructions
from builder.pipeline.plan import PairPlan
from builder.storage.folder import address_of
from builder.storage.opening import open_folder
from builder.write.database import Database
from builder.write.pair_store import store_failure
from builder.write.pair_work import StoredPairs
from builder.write.part import label_part, rename_folders


@dataclass(frozen=True, slots=True)
class StoredParts:
    """Puts every pair into a part of its own in the folder `parts`; it can travel to any host.

    Doing a pair twice leaves the first part that was whole.
    """

    plan: str
    parts: str
    instructions: Instructions

    def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
        """Compare, judge and store a pair; an error of any kind is stored instead."""
        try:
            with brought(plan) as here:
                changed = _changed(plan, here.pair)
                if changed is not None:
                    return self._stored(plan, changed)
                return self._worked(plan, here, cores)
        except (BuilderError, OSError) as error:
            return self._stored(plan, str(error))

    def lost(self, plan: PairPlan, cause: str) -> PairOutcome:
        """Store that a pair's process ended without an outcome."""
        return self._stored(plan, f"{address_of(plan.problem)}: worker {cause}")

    def _worked(self, plan: PairPlan, here: Brought, cores: int) -> PairOutcome:
        with tempfile.TemporaryDirectory(prefix="msprobe-unit-") as scratch:
            database = Database.create(Path(scratch), "unit")
            try:
                work = StoredPairs(database.final, self.instructions)
                outcome = work.attempt(here.pair, cores)
                for local, address in here.addresses.items():
                    rename_folders(database, local, address)
                    if outcome.error is not None:
                        text = outcome.error.replace(local, address)
                        outcome = replace(outcome, error=text)
                return self._put(plan, database, outcome)
            finally:
                database.close()

    def _stored(self, plan: PairPlan, error: str) -> PairOutcome:
        """A part that says why it is empty; the outcome alone where it cannot be put."""
        try:
            with tempfile.TemporaryDirectory(prefix="msprobe-unit-") as scratch:
                database = Database.create(Path(scratch), "unit")
                try:
                    return self._put(plan, database, store_failure(database, plan, error))
                finally:
                    database.close()
        except (BuilderError, OSError) as problem:
            return PairOutcome(plan.step, plan.rank, error=f"{error}; {self.parts}: {problem}")

    def _put(self, plan: PairPlan, database: Database, outcome: PairOutcome) -> PairOutcome:
        parts, unit = open_folder(self.parts), unit_id(plan)
        label_part(database, self.plan, unit, outcome_bytes(outcome))
        database.close()
        before = state_of(self.plan, unit, parts)
        if before.state == "done":
            return outcome
        name = f"{unit}.{uuid4().hex[:12]}.part"
        parts.put(database.partial, name)
        size = database.partial.stat().st_size
        mark(parts, Marker(self.plan, unit, name, size, tool_version(), outcome.error))
        if before.marker is not None:
            parts.remove(before.marker.file)
        return outcome


def _changed(planned: PairPlan, here: PairPlan) -> str | None:
    """What to say of dumps that are not those that the plan was made for."""
    size = json_bytes(replace(here, json_bytes=None))
    if planned.json_bytes in (None, size):
        return None
    return (
        f"{address_of(planned.problem)}: its JSON files and those of the other side hold "
        f"{size} bytes, {planned.json_bytes} when the plan was made; plan again"
    )
