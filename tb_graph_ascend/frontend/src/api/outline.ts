/* The modules of a pair as a tree of their own, a window of rows at a time. */

import { address, request } from "./client";
import type { PairPlace } from "./rows";
import type { OutlineWindow } from "./types";

export interface OutlineQuery {
  toggled: string;
  divergent: boolean;
  here?: number | undefined;
  prefix?: string;
  after?: number;
  offset?: number;
  limit?: number;
}

export function fetchOutline({ db, step, rank }: PairPlace, query: OutlineQuery): Promise<OutlineWindow> {
  return request<OutlineWindow>(address(`databases/${encodeURIComponent(db)}/pairs/${step}/${rank}/outline`, { ...query }));
}
