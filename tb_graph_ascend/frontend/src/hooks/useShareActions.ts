/* What the share menu offers, each with its file; null where there is nothing to hand on. */

import { useTranslation } from "react-i18next";

import { files, isServed } from "../api/client";
import { guarded } from "../state/actions";
import { withHeads } from "../state/rowspicture";
import { download } from "../state/export";
import { useApp } from "../state/store";
import { useDatabase } from "./useDatabase";
import { placed, stemOf, useHandOn } from "./useHandOn";

export interface ShareAction {
  key: string;
  label: string;
  run: (() => void) | null;
}

/** What a page hands on that carries its result: the rest is made by a server. */
const IN_THE_PAGE = new Set(["link", "report", "pngView", "findings csv", "findings json", "pairs csv", "pairs json"]);

/** Groups of actions, a line between them. */
export function useShareActions(): ShareAction[][] {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { copyLink, saveSlide } = useHandOn();
  const stem = stemOf(data?.path ?? "graph");
  const compared = data?.comparison === true;
  const views: ShareAction[] = [
    { key: "link", label: t("share.link"), run: copyLink },
    { key: "slidePng", label: t("share.slidePng"), run: compared ? () => saveSlide("png") : null },
    { key: "slideSvg", label: t("share.slideSvg"), run: compared ? () => saveSlide("svg") : null },
    { key: "report", label: t("share.report"), run: compared ? () => saveReport(data.id, stem) : null },
    { key: "pngView", label: t("share.pngView"), run: () => savePicture(stem) },
  ];
  const groups = [views, useTables(stem)];
  return isServed() ? groups : groups.map((actions) => actions.filter(({ key }) => IN_THE_PAGE.has(key)));
}

/** Tables as files, each whole; the nodes table has its own buttons, for it goes with its query. */
function useTables(stem: string): ShareAction[] {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const selected = useApp((state) => state.selected);
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  if (db === null) return [];
  const several = (data?.pairs.length ?? 0) > 1;
  const compared = data?.comparison === true && step !== null && rank !== null;
  const table = (form: "csv" | "xlsx"): ShareAction => ({
    key: `compare ${form}`,
    label: t("share.compare", { form: form.toUpperCase() }),
    run: compared
      ? () => save(`compare_result_step${step}_rank${rank}.${form}`, () => files.compare(db, step, rank, form), MEDIA[form])
      : null,
  });
  const node = selected ?? 0;
  const here = step !== null && rank !== null ? placed({ step, rank }) : "";
  const offers: [string, string, boolean, (form: string) => Promise<Blob>][] = [
    ["findings", "", data?.comparison === true, (form) => files.findings(db, form)],
    ["values", here, selected !== null, (form) => files.values(db, node, form)],
    ["pairs", "", several, (form) => files.pairs(db, form)],
    ["across", "", several && selected !== null, (form) => files.across(db, node, form)],
  ];
  const tables = offers.flatMap(([table, of, offered, ask]) =>
    (["csv", "json"] as const).map((form) => ({
      key: `${table} ${form}`,
      label: t(`share.${form}`, { table: t(`share.table.${table}`) }),
      run: offered ? () => save(`${stem}${of}-${table}.${form}`, () => ask(form), MEDIA[form]) : null,
    })),
  );
  return [table("csv"), table("xlsx"), ...tables];
}

const MEDIA = {
  csv: "text/csv",
  json: "application/json",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
} as const;

function saveReport(db: string, stem: string): void {
  save(`${stem}-report.html`, () => files.report(db), "text/html");
}

function save(name: string, ask: () => Promise<Blob>, type: string): void {
  const step = async (): Promise<void> => download(name, await ask(), type);
  void guarded(() => save(name, ask, type), step);
}

function savePicture(stem: string): void {
  const rows = document.querySelector<HTMLCanvasElement>("canvas.diff-canvas");
  const heads = document.querySelector<HTMLElement>(".diff-heads");
  if (!rows || !heads) return;
  withHeads(rows, heads).toBlob((blob) => {
    if (blob) download(`${stem}-rows.png`, blob, "image/png");
  });
}
