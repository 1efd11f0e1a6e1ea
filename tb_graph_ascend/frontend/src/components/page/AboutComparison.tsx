/* While nothing is selected: what was compared, how far it matched, when it was built. */

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import type { Database } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { reasonSentence } from "../../i18n/reason";
import { countsOf, ranksOf, stepsOf } from "../../state/pairs";

export function AboutComparison() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  return (
    // What is longer than its room is scrolled by keys, too.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="scroll about" tabIndex={0}>
      <p className="muted">{t("details.none")}</p>
      {data && <Facts database={data} />}
    </div>
  );
}

function Facts({ database }: { database: Database }) {
  const { t, i18n } = useTranslation();
  const { pairs, comparison, problem, benchmark } = database;
  const facts: [string, string | null][] = [
    [comparison ? t("side.problem") : t("side.single"), problem],
    [t("side.benchmark"), benchmark],
    [t(comparison ? "about.pairs" : "about.holds"), pairs.length > 1 ? rangeText(database, t) : null],
    [t("about.matched"), comparison ? t("about.matchedCount", countsOf(pairs)) : null],
    [t("about.kind"), database.kind && reasonSentence(t, database.kind)],
    [t("about.task"), t(`task.${database.task}`)],
    [t("about.created"), builtText(database, t, i18n.language)],
  ];
  return (
    <dl aria-label={t("about.label")}>
      {facts.map(
        ([name, text]) =>
          text !== null && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function rangeText({ pairs }: Database, t: TFunction): string {
  const [compared, failed, alone] = (["ok", "failed", "missing"] as const).map((wanted) => pairs.filter(({ status }) => status === wanted).length);
  const counts = { steps: stepsOf(pairs).length, ranks: ranksOf(pairs).length, compared, failed, alone };
  return t(compared === pairs.length ? "about.pairsCount" : "about.pairsPartly", counts);
}

/** The moment in the reader's words; files of other tools do not tell it. */
function builtText(database: Database, t: TFunction, language: string): string | null {
  const moment = new Date(database.created);
  if (Number.isNaN(moment.getTime())) return null;
  const date = moment.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
  return t("about.createdBy", { date, version: database.tool_version });
}
