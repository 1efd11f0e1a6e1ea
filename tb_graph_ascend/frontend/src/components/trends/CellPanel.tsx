/* One step of one series: its value on all ranks, the comparison of that step, or how to record it. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { trendCellQuery } from "../../api/trends";
import { openDatabase } from "../../state/actions";
import { NOWHERE, useTrends } from "../../state/trends";
import { apartSentence } from "../../text/apart";
import { besideTexts, shortNumber } from "../../text/numbers";
import { CopyButton } from "../parts/CopyButton";
import { useSeriesName } from "./seriesname";

interface Props {
  run: string;
  kind: string;
  name: string;
  step: number;
}

export function CellPanel({ run, kind, name, step }: Props) {
  const { t } = useTranslation();
  const named = useSeriesName();
  const { statistic, other, set } = useTrends();
  const { data } = useQuery(trendCellQuery(run, kind, name, step, statistic, other));
  const title = t("trends.cell", { step, name: named([kind, name]) });
  const fields = Object.entries(data?.config ?? {}).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const config = `{\n  ${fields.join(",\n  ")}\n}`;
  return (
    <section className="trend-cell" aria-label={title}>
      <h2>{title}</h2>
      {data && data.ranks.length > 0 && (
        <ul className="trend-ranks" aria-label={t("trends.ranks")}>
          {data.ranks.map(({ rank, value, minority, other: beside, octaves }) => (
            <li key={rank} className={minority ? "minority" : ""} title={minority ? t("trends.rankDiffers", { rank }) : undefined}>
              <b>{t("findings.rank", { rank })}</b> {other === null ? shortNumber(value) : besideTexts(value, beside).join(" / ")}
              {octaves !== null && ` · ${apartSentence(t, value, beside)}`}
            </li>
          ))}
        </ul>
      )}
      {data?.comparisons.map(({ db, path, rank }) => (
        <p key={db}>
          <button
            type="button"
            onClick={() => {
              set(NOWHERE);
              void openDatabase(db, undefined, { at: { step, rank } });
            }}
          >
            {t("trends.comparison")}: {path}
          </button>
        </p>
      ))}
      {data?.comparisons.length === 0 && (
        <>
          <p>{t("trends.noComparison")}</p>
          <div className="command">
            <pre>{config}</pre>
            <CopyButton text={config} label={t("copy")} />
          </div>
        </>
      )}
      {data?.checkpoint && <p className="muted">{t("trends.checkpoint", { name: data.checkpoint })}</p>}
    </section>
  );
}
