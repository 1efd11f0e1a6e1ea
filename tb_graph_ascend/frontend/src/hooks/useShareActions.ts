/* What the share menu offers, each with its file; null where there is nothing to hand on. */

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { copyText } from "../components/CopyButton";
import { shareableAddress } from "../state/addressbar";
import { download, findingsCsv, valuesCsv } from "../state/export";
import { useApp } from "../state/store";
import { useDatabase } from "./useDatabase";
import { useFindings } from "./useFindings";
import { useSelection } from "./useSelection";

export interface ShareAction {
  key: string;
  run: (() => void) | null;
}

export function useShareActions(): ShareAction[] {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { shown } = useFindings();
  const { details } = useSelection();
  const stem = data?.path.split(/[\\/]/).pop()?.replace(/\.vis\.db$/, "") ?? "graph";
  const values = details.data?.values ?? [];
  const file = (name: string, text: string, type: string) => () =>
    download(`${stem}-${name}`, text, type);
  const offer = (rows: number, run: () => void): (() => void) | null => (rows > 0 ? run : null);
  return [
    {
      key: "link",
      run: () =>
        void copyText(shareableAddress()).then(() =>
          useApp.getState().set({ notice: t("notice.linkCopied") }),
        ),
    },
    {
      key: "report",
      run: data ? () => void copyReportCommand(data.path, t) : null,
    },
    { key: "pngProblem", run: picture("problem", stem) },
    { key: "pngBenchmark", run: data?.comparison ? picture("benchmark", stem) : null },
    { key: "findingsCsv", run: offer(shown.length, file("findings.csv", findingsCsv(shown), "text/csv")) },
    {
      key: "findingsJson",
      run: offer(shown.length, file("findings.json", JSON.stringify(shown, null, 2), "application/json")),
    },
    { key: "valuesCsv", run: offer(values.length, file("values.csv", valuesCsv(values), "text/csv")) },
    {
      key: "valuesJson",
      run: offer(values.length, file("values.json", JSON.stringify(details.data, null, 2), "application/json")),
    },
  ];
}

async function copyReportCommand(path: string, t: TFunction): Promise<void> {
  const command = `msprobe diagnose ${path} --html report.html`;
  await copyText(command);
  useApp.getState().set({ notice: t("notice.commandCopied", { command }) });
}

function picture(side: "problem" | "benchmark", stem: string): () => void {
  return () => {
    const canvas = useApp.getState().session?.link.view(side)?.canvas;
    canvas?.toBlob((blob) => {
      if (blob) download(`${stem}-${side}.png`, blob, "image/png");
    });
  };
}
