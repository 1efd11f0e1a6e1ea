/* Which cause the answer shows just now, and what it suspects besides: a slide is of what is read above it. */

import { create } from "zustand";

import type { Cause } from "../api/types";

interface ShownCause {
  /** Null where the answer names none. */
  cause: Cause | null;
  /** What may be a further cause, in words; empty where nothing is. */
  also: string;
}

export const useShownCause = create<ShownCause>()(() => ({ cause: null, also: "" }));
