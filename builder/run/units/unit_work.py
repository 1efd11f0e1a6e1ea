"""Works on one unit of a plan: brings its dumps here if need be, compares them, puts its part."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from builder.dump.reader import read_dump
from builder.dump.stored_dump import store_dump
from builder.errors import BuilderError
from builder.run.build import tool_version
from builder.run.pair_work import StoredPairs
from builder.run.units.dump_places import Brought, brought, with_addresses
from builder.run.units.inputs import changed_input
from builder.run.units.outcome_bytes import outcome_bytes
from builder.run.units.plan_file import reading_of, unit_id
from builder.run.units.unit_parts import PART, Marker, local_file, mark, state_of
from builder.storage.addresses import open_folder
from builder.storage.folder import address_of
from builder.work.outcome import PairOutcome
from builder.work.pair import Instructions
from builder.work.plan import PairPlan
from builder.write.pair_store import store_failure
from builder.write.part import label_part, rename_folders
from builder.write.result_writer import Database


@dataclass(frozen=True, slots=True)
class StoredParts:
    """Puts every pair into a part of its own in the folder `parts`; it can travel to any host.

    Doing a pair twice leaves the first part that was whole.
    """

    plan: str
    parts: str
    instructions: Instructions

    def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
        """Compare, judge and store a pair; an error of any kind is stored instead.

        Of a rank that is read beforehand the columns are stored.
        """
        try:
            changed = changed_input(plan)
            if changed is not None:
                return self._stored(plan, changed)
            if plan.side is not None:
                return self._read(plan)
            with self._with_columns(plan) as known, brought(known) as here:
                return self._worked(plan, here, cores)
        except (BuilderError, OSError) as error:
            return self._stored(plan, str(error))

    def lost(self, plan: PairPlan, cause: str) -> PairOutcome:
        """Store that a pair's process ended without an outcome."""
        return self._stored(plan, f"{address_of(plan.problem)}: worker {cause}")

    def _read(self, plan: PairPlan) -> PairOutcome:
        """Read one rank and put what it holds as columns."""
        with tempfile.TemporaryDirectory(prefix="msprobe-unit-") as scratch, brought(plan) as here:
            file = Path(scratch) / "columns"
            try:
                store_dump(read_dump(here.pair.problem), file)
            except BuilderError as error:
                return self._stored(plan, with_addresses(str(error), here.addresses))
            return self._put(plan, file, PairOutcome(plan.step, plan.rank))

    @contextmanager
    def _with_columns(self, plan: PairPlan) -> Iterator[PairPlan]:
        """A pair with the columns of those of its ranks that were read, here while it lasts."""
        parts = open_folder(self.parts)
        with tempfile.TemporaryDirectory(prefix="msprobe-columns-") as scratch:
            found: list[tuple[Path, Path]] = []
            for rank in reading_of(plan):
                state = state_of(self.plan, unit_id(rank), parts)
                if state.state == "done" and state.marker is not None:
                    found.append(
                        (rank.problem, local_file(parts, state.marker.file, Path(scratch)))
                    )
            yield replace(plan, columns=tuple(found))

    def _worked(self, plan: PairPlan, here: Brought, cores: int) -> PairOutcome:
        with tempfile.TemporaryDirectory(prefix="msprobe-unit-") as scratch:
            database = _begun(Path(scratch), plan)
            try:
                work = StoredPairs(database.final, self.instructions)
                outcome = work.attempt(here.pair, cores)
                for local, address in here.addresses.items():
                    rename_folders(database, local, address)
                if outcome.error is not None:
                    text = with_addresses(outcome.error, here.addresses)
                    outcome = replace(outcome, error=text)
                return self._put_rows(plan, database, outcome)
            finally:
                database.close()

    def _stored(self, plan: PairPlan, error: str) -> PairOutcome:
        """A part that says why it is empty; the outcome alone where it cannot be put."""
        if plan.side is not None:
            return self._stored_reading(plan, error)
        try:
            with tempfile.TemporaryDirectory(prefix="msprobe-unit-") as scratch:
                database = _begun(Path(scratch), plan)
                try:
                    return self._put_rows(plan, database, store_failure(database, plan, error))
                finally:
                    database.close()
        except (BuilderError, OSError) as problem:
            return PairOutcome(plan.step, plan.rank, error=f"{error}; {self.parts}: {problem}")

    def _stored_reading(self, plan: PairPlan, error: str) -> PairOutcome:
        outcome = PairOutcome(plan.step, plan.rank, error=error)
        try:
            with tempfile.TemporaryDirectory(prefix="msprobe-unit-") as scratch:
                empty = Path(scratch) / "columns"
                empty.touch()
                return self._put(plan, empty, outcome)
        except (BuilderError, OSError) as problem:
            return replace(outcome, error=f"{error}; {self.parts}: {problem}")

    def _put_rows(self, plan: PairPlan, database: Database, outcome: PairOutcome) -> PairOutcome:
        label_part(database, self.plan, unit_id(plan), outcome_bytes(outcome), plan.id_base)
        database.close()
        return self._put(plan, database.partial, outcome)

    def _put(self, plan: PairPlan, file: Path, outcome: PairOutcome) -> PairOutcome:
        parts, unit = open_folder(self.parts), unit_id(plan)
        before = state_of(self.plan, unit, parts)
        if before.state == "done":
            return outcome
        name = f"{unit}.{uuid4().hex[:12]}{PART}"
        parts.put(file, name)
        size = file.stat().st_size
        mark(parts, Marker(self.plan, unit, name, size, tool_version(), outcome.error))
        if before.marker is not None:
            parts.remove(before.marker.file)
        return outcome


def _begun(scratch: Path, plan: PairPlan) -> Database:
    database = Database.create(scratch, "unit")
    database.number_above(plan.id_base)
    return database
