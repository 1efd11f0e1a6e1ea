"""Works on one pair and stores it: what an executor runs for each pair of a build."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from builder.errors import BuilderError
from builder.work.outcome import PairOutcome
from builder.work.pair import Instructions, work_on
from builder.work.phases import enter
from builder.work.plan import PairPlan
from builder.write.early_store import EarlyStore
from builder.write.pair_store import store, store_failure
from builder.write.result_writer import Database


@dataclass(frozen=True, slots=True)
class StoredPairs:
    """Stores every pair in the database that is being made for `final`.

    It holds no connection, so that it can travel to another process.
    """

    final: Path
    instructions: Instructions

    def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
        """Compare, judge and store a pair; an error of any kind is stored instead."""
        database = Database(self.final)
        instructions = replace(self.instructions, cores=cores)
        try:
            with EarlyStore(database, beside=cores > 1) as early:
                result = work_on(plan, instructions, early.begin)
                enter("writing")
                return store(database, result, instructions, early)
        except BuilderError as error:
            return store_failure(database, plan, str(error))
        except sqlite3.OperationalError as error:
            text = f"{self.final}: cannot be written ({error}); free space or choose another -o"
            return store_failure(database, plan, text)
        except Exception as error:  # one pair's defect must not take the others' results with it
            text = f"{plan.problem}: {type(error).__name__}: {error}; please report this"
            return store_failure(database, plan, text)
        finally:
            database.close()

    def lost(self, plan: PairPlan, cause: str) -> PairOutcome:
        """Store that a pair's process ended without an outcome."""
        database = Database(self.final)
        try:
            return store_failure(database, plan, f"{plan.problem}: worker {cause}")
        finally:
            database.close()
