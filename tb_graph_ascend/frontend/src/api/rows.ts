/* Both sides of a pair as one list of rows, as the server sends it: a window at a time. */

import { address, request } from "./client";
import type { Profile, RowWindow } from "./types";

export interface PairPlace {
  db: string;
  step: number;
  rank: number;
}

export interface RowQuery {
  open: string;
  keep?: number | undefined;
  reveal?: number | undefined;
  cause?: number | undefined;
  target?: number | undefined;
  offset?: number;
  limit?: number;
}

export function fetchRows(place: PairPlace, query: RowQuery): Promise<RowWindow> {
  return request<RowWindow>(address(`${pathOf(place)}/rows`, { ...query }));
}

export function fetchProfile(place: PairPlace): Promise<Profile> {
  return request<Profile>(address(`${pathOf(place)}/profile`));
}

function pathOf({ db, step, rank }: PairPlace): string {
  return `databases/${encodeURIComponent(db)}/pairs/${step}/${rank}`;
}
