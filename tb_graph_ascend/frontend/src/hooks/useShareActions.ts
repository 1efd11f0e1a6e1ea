/* What the share menu offers, each with its file; null where there is nothing to hand on. */

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { files } from "../api/client";
import { copyText } from "../components/CopyButton";
import { guarded } from "../state/actions";
import { shareableAddress } from "../state/addressbar";
import { download, findingsCsv, valuesCsv } from "../state/export";
import { type AppState, useApp } from "../state/store";
import { useDatabase } from "./useDatabase";
import { useFindings } from "./useFindings";
import { useSelection } from "./useSelection";

export interface ShareAction {
  key: string;
  label: string;
  run: (() => void) | null;
}

/** Groups of actions, a line between them. */
export function useShareActions(): ShareAction[][] {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const stem = data?.path.split(/[\\/]/).pop()?.replace(/\.vis\.db$/, "") ?? "graph";
  const views: ShareAction[] = [
    { key: "link", label: t("share.link"), run: () => void copyLink(t) },
    { key: "report", label: t("share.report"), run: data?.comparison ? () => saveReport(data.id, stem) : null },
    { key: "pngProblem", label: t("share.pngProblem"), run: () => savePicture("problem", stem) },
    {
      key: "pngBenchmark",
      label: t("share.pngBenchmark"),
      run: data?.comparison ? () => savePicture("benchmark", stem) : null,
    },
  ];
  const shown = useShownTables(stem);
  const whole = useWholeTables(stem);
  return [views, shown, whole];
}

/** Tables as they are on screen, filtered and sorted. */
function useShownTables(stem: string): ShareAction[] {
  const { t } = useTranslation();
  const { shown } = useFindings();
  const { details } = useSelection();
  const values = details.data?.values ?? [];
  const offer = (table: string, form: "csv" | "json", rows: number, text: () => string) => ({
    key: `${table} ${form}`,
    label: t(`share.${form}`, { table: t(`share.table.${table}`) }),
    run: rows > 0 ? () => download(`${stem}-${table}.${form}`, text(), MEDIA[form]) : null,
  });
  return [
    offer("findings", "csv", shown.length, () => findingsCsv(shown)),
    offer("findings", "json", shown.length, () => JSON.stringify(shown, null, 2)),
    offer("values", "csv", values.length, () => valuesCsv(values)),
    offer("values", "json", values.length, () => JSON.stringify(details.data, null, 2)),
  ];
}

const MEDIA = { csv: "text/csv", json: "application/json" } as const;

/** Tables that the server writes whole: what the left and the lower panel are about. */
function useWholeTables(stem: string): ShareAction[] {
  const { t } = useTranslation();
  const { db, step, rank, leftTab, selected } = useApp();
  const { data } = useDatabase();
  if (db === null || step === null || rank === null) return [];
  const list = LISTS[leftTab] ?? "nodes";
  const show = list === "nodes" ? "" : list;
  const several = (data?.pairs.length ?? 0) > 1;
  const offers: [string, boolean, (form: string) => Promise<Blob>][] = [
    [list, true, (form) => files.nodes(db, step, rank, show, form)],
    ["pairs", several, (form) => files.pairs(db, form)],
    ["across", several && selected !== null, (form) => files.across(db, selected ?? 0, form)],
  ];
  return offers.flatMap(([table, offered, ask]) =>
    (["csv", "json"] as const).map((form) => ({
      key: `${table} ${form}`,
      label: t(`share.${form}`, { table: t(`share.table.${table}`) }),
      run: offered ? () => save(`${stem}-${table}.${form}`, () => ask(form), MEDIA[form]) : null,
    })),
  );
}

const LISTS: Partial<Record<AppState["leftTab"], string>> = {
  overflow: "overflow",
  unmatched: "unmatched",
};

function saveReport(db: string, stem: string): void {
  save(`${stem}-report.html`, () => files.report(db), "text/html");
}

function save(name: string, ask: () => Promise<Blob>, type: string): void {
  const step = async (): Promise<void> => download(name, await ask(), type);
  void guarded(() => save(name, ask, type), step);
}

async function copyLink(t: TFunction): Promise<void> {
  await copyText(shareableAddress());
  useApp.getState().set({ notice: t("notice.linkCopied") });
}

function savePicture(side: "problem" | "benchmark", stem: string): void {
  const canvas = useApp.getState().session?.link.view(side)?.canvas;
  canvas?.toBlob((blob) => {
    if (blob) download(`${stem}-${side}.png`, blob, "image/png");
  });
}
