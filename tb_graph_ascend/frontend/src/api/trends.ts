/* Requests for trends, and their cache: while a page looks at a run it asks again every five seconds,
 * and a run that has not grown answers with nothing (304). */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { address, request } from "./client";
import type {
  TrendAlerts,
  TrendCell,
  TrendHeat,
  TrendLine,
  TrendLines,
  TrendList,
  TrendParting,
  TrendSummary,
  TrendTiles,
} from "./messages";

export type { RankValue, TrendAlert, TrendCell, TrendHeat, TrendLine, TrendParting, TrendRow, TrendSummary, TrendTile, TrendTiles } from "./messages";

export const STATISTICS = ["norm", "mean", "min", "max"] as const;
export type Statistic = (typeof STATISTICS)[number];

/** Which rows and steps. */
interface RowsWish {
  kind: string;
  statistic: Statistic;
  first: number | null;
  last: number | null;
  open: string;
  offset: number;
  limit: number;
  other: string | null;
}

export interface HeatWish extends RowsWish {
  columns: number;
  absolute: boolean;
}

export interface TilesWish extends RowsWish {
  points: number;
}

const REFRESH_MS = 5000;
const growing = { refetchInterval: REFRESH_MS, staleTime: 0, placeholderData: keepPreviousData };

const place = (run: string): string => `trends/${encodeURIComponent(run)}`;

export const trendsQuery = () =>
  queryOptions({ queryKey: ["trends"], queryFn: () => request<TrendList>(address("trends")), ...growing });

export const trendSummaryQuery = (run: string) =>
  queryOptions({
    queryKey: ["trends", run],
    queryFn: () => request<TrendSummary>(address(place(run))),
    ...growing,
  });

export const trendHeatQuery = (run: string, wish: HeatWish) =>
  queryOptions({
    queryKey: ["trends", run, "heat", wish],
    queryFn: () => request<TrendHeat>(address(`${place(run)}/heat`, { ...wish })),
    ...growing,
  });

export const trendTilesQuery = (run: string, wish: TilesWish) =>
  queryOptions({
    queryKey: ["trends", run, "tiles", wish],
    queryFn: () => request<TrendTiles>(address(`${place(run)}/tiles`, { ...wish })),
    ...growing,
  });

export const trendLineQuery = (
  run: string,
  kind: string,
  name: string,
  statistic: Statistic,
  window: { first: number | null; last: number | null },
) =>
  queryOptions({
    queryKey: ["trends", run, "line", kind, name, statistic, window],
    queryFn: () =>
      request<TrendLine>(address(`${place(run)}/line`, { kind, name, statistic, ...window })),
    ...growing,
    retry: false,
  });

export const trendScalarsQuery = (run: string) =>
  queryOptions({
    queryKey: ["trends", run, "scalars"],
    queryFn: () => request<TrendLines>(address(`${place(run)}/scalars`)),
    ...growing,
  });

export const trendAlertsQuery = (run: string) =>
  queryOptions({
    queryKey: ["trends", run, "alerts"],
    queryFn: () => request<TrendAlerts>(address(`${place(run)}/alerts`)),
    ...growing,
  });

export const trendPartingQuery = (run: string, other: string) =>
  queryOptions({
    queryKey: ["trends", run, "parting", other],
    queryFn: () => request<TrendParting>(address(`${place(run)}/parting`, { other })),
    ...growing,
  });

export const trendCellQuery = (
  run: string,
  kind: string,
  name: string,
  step: number,
  statistic: Statistic,
  other: string | null,
) =>
  queryOptions({
    queryKey: ["trends", run, "cell", kind, name, step, statistic, other],
    queryFn: () => request<TrendCell>(address(`${place(run)}/cell`, { kind, name, step, statistic, other })),
    ...growing,
  });
