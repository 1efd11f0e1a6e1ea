/* The suspects in the order of the diagnosis; the first is where to start. */

import { ChevronDown, ChevronUp, ListFilter, Play } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Finding, Findings } from "../api/types";
import { useDatabase } from "../hooks/useDatabase";
import { useFindings } from "../hooks/useFindings";
import { startHere, stepFinding } from "../state/actions";
import { isFiltering } from "../state/findings";
import { NO_FILTER, useApp } from "../state/store";
import { FailureNotice } from "./FailureNotice";
import { FilterForm } from "./FilterForm";
import { FindingCard } from "./FindingCard";
import { ReasonList } from "./ReasonList";

/** Cards rendered before "more" is asked for. */
const FIRST_CARDS = 50;

export function Divergences() {
  const { t } = useTranslation();
  const { data: database } = useDatabase();
  const { query, scoped, shown } = useFindings();
  if (query.isError) return <FailureNotice error={query.error} retry={() => void query.refetch()} />;
  if (!query.data || !database) return <p className="message">{t("loading")}</p>;
  if (!database.comparison) return <p className="message">{t("findings.single")}</p>;
  return (
    <>
      <FindingsToolbar shown={shown} />
      <div className="scroll">
        {database.summary.length > 0 && (
          <div className="summary">
            <ReasonList reasons={database.summary} />
          </div>
        )}
        {scoped.length > 0 && <FindingList shown={shown} />}
        {scoped.length === 0 && <NoFinding findings={query.data} />}
      </div>
    </>
  );
}

function NoFinding({ findings: { findings, threshold } }: { findings: Findings }) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  if (findings.length === 0) return <p className="message">{t("findings.none", { threshold })}</p>;
  return (
    <p className="message">
      {t("findings.noneHere", { count: findings.length })}{" "}
      <button type="button" className="link" onClick={() => set({ allPairs: true })}>
        {t("findings.allPairs")}
      </button>
    </p>
  );
}

function FindingList({ shown }: { shown: Finding[] }) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const [limit, setLimit] = useState(FIRST_CARDS);
  if (shown.length === 0) {
    return (
      <p className="message">
        {t("findings.noneFiltered")}{" "}
        <button type="button" className="link" onClick={() => set({ filter: NO_FILTER })}>
          {t("findings.clearFilter")}
        </button>
      </p>
    );
  }
  return (
    <ol className="findings">
      {shown.slice(0, limit).map((finding, index) => (
        <FindingCard key={finding.id} finding={finding} number={index + 1} />
      ))}
      {shown.length > limit && (
        <li>
          <button type="button" className="link" onClick={() => setLimit(limit * 4)}>
            {t("findings.more", { count: shown.length - limit })}
          </button>
        </li>
      )}
    </ol>
  );
}

function FindingsToolbar({ shown }: { shown: Finding[] }) {
  const { t } = useTranslation();
  const filter = useApp((state) => state.filter);
  const [open, setOpen] = useState(isFiltering(filter));
  const none = shown.length === 0;
  return (
    <>
      <div className="toolbar">
        <button
          type="button"
          className="button primary"
          disabled={none}
          onClick={() => void startHere()}
          title={t("findings.startHereKey")}
        >
          <Play aria-hidden size={13} /> {t("findings.startHere")} <kbd aria-hidden>F</kbd>
        </button>
        <span className="spacer" />
        <button
          type="button"
          className="icon"
          aria-label={t("findings.previous")}
          title={t("findings.previous")}
          disabled={none}
          onClick={() => void stepFinding(shown, -1)}
        >
          <ChevronUp aria-hidden size={16} />
        </button>
        <button
          type="button"
          className="icon"
          aria-label={t("findings.next")}
          title={t("findings.next")}
          disabled={none}
          onClick={() => void stepFinding(shown, 1)}
        >
          <ChevronDown aria-hidden size={16} />
        </button>
        <button
          type="button"
          className={isFiltering(filter) ? "icon on" : "icon"}
          aria-label={t("findings.filter")}
          title={t("findings.filter")}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <ListFilter aria-hidden size={16} />
        </button>
      </div>
      {open && <FilterForm />}
    </>
  );
}
