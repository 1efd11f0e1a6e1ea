/* The row that is being dragged on another, to map them. */

import { create } from "zustand";

import type { DiffHit } from "../graph/diffcanvas";
import { type Drop, type Held, dropOn, heldOf, otherSide } from "../graph/mapdrag";
import { mapHeld } from "./mapping";
import { useApp } from "./store";

export interface MapDrag {
  held: Held | null;
  /** The pointer in the window. */
  x: number;
  y: number;
  /** The row under it, −1 without one; where it stands over its own side no drop is told yet. */
  place: number;
  drop: Drop | null;
}

const NOTHING: MapDrag = { held: null, x: 0, y: 0, place: -1, drop: null };

export const useMapDrag = create<MapDrag>()(() => NOTHING);

/** What the canvas tells of a drag; `folded` is asked whether the benchmark's side is put away. */
export function mapGestures(allowed: () => boolean, folded: () => boolean) {
  const dropAt = (held: Held, hit: DiffHit | null): Drop | null => {
    const across = hit !== null && (folded() || hit.side === otherSide(held.side));
    return across ? dropOn(held, hit.row) : null;
  };
  return {
    holds: ({ row, side }: DiffHit): boolean => {
      const held = allowed() ? heldOf(row) : null;
      return held !== null && (folded() || side === held.side);
    },
    began: ({ row }: DiffHit): void => useMapDrag.setState({ ...NOTHING, held: heldOf(row) }),
    moved: (x: number, y: number, hit: DiffHit | null): void => {
      const { held } = useMapDrag.getState();
      if (!held) return;
      const drop = dropAt(held, hit);
      useMapDrag.setState({ x, y, drop, place: drop && hit ? hit.place : -1 });
    },
    dropped: (hit: DiffHit | null): void => {
      const { held } = useMapDrag.getState();
      useMapDrag.setState(NOTHING);
      if (held) void drop(held, dropAt(held, hit));
    },
    cancelled: (): void => useMapDrag.setState(NOTHING),
  };
}

async function drop(held: Held, target: Drop | null): Promise<void> {
  if (target?.fits) return mapHeld(held, target);
  const reason = target?.why ?? { code: "own_side", side: otherSide(held.side) };
  useApp.getState().set({ notice: { code: "notMapped", facts: {}, reason } });
}
