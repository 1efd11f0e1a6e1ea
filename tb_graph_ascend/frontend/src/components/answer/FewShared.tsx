/* Where the runs share too few names for an answer: says so first, and offers the renaming whole. */

import { TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Answer } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { useProposals } from "../../hooks/useProposals";
import { listNodes } from "../../state/listing";
import { mapAllAndRebuild, useMappingWork } from "../../state/mapping";
import { useApp } from "../../state/store";

/** Patterns that are named in the answer; the mapping list has all. */
const NAMED = 4;

export function FewShared({ answer: { coverage } }: { answer: Answer }) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const { data } = useDatabase();
  // As the header has it, which knows of a mapping before the answer does.
  const unmatched = (data?.pairs ?? [coverage]).reduce((sum, one) => sum + one.unmatched_problem + one.unmatched_benchmark, 0);
  return (
    <section className="answer partly" aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <TriangleAlert aria-hidden size={18} />
          <span>{t("certainty.share", { share: Math.floor(100 * (coverage.share ?? 0)) })}</span>
        </h1>
        <p className="answer-what">
          {t("certainty.why", { unmatched, over: coverage.pairs > 1 ? t("answer.over", { pairs: coverage.pairs }) : "" })}{" "}
          <button type="button" className="link" onClick={() => listNodes("unmatched", "all")}>
            {t("answer.list")}
          </button>
          {data?.writable && (
            <>
              {" · "}
              <button type="button" className="link" onClick={() => set({ leftTab: "mapping" })}>
                {t("certainty.byHand")}
              </button>
            </>
          )}
        </p>
        {data?.writable && <Patterns />}
      </div>
    </section>
  );
}

function Patterns() {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const working = useMappingWork(({ pending }) => pending > 0);
  const building = useMappingWork((work) => work.building);
  const said = t(building ? "certainty.mapping" : "certainty.measuring");
  const asked = useProposals();
  if (!asked.data) return asked.isPending ? <p className="muted">{t("loading")}</p> : null;
  const { proposals } = asked.data;
  if (proposals.length === 0) return working ? <Working said={said} /> : <p className="answer-what">{t("certainty.noPatterns")}</p>;
  const more = proposals.length - NAMED;
  return (
    <>
      <p className="answer-patterns">
        {t("certainty.patterns")}{" "}
        {proposals.slice(0, NAMED).map(({ names: [problem, benchmark], places }) => (
          <code key={`${problem} ${benchmark}`}>{t("certainty.pattern", { problem, benchmark, count: places })}</code>
        ))}
        {more > 0 && (
          <button type="button" className="link" onClick={() => set({ leftTab: "mapping" })}>
            {t("findings.more", { count: more })}
          </button>
        )}
      </p>
      <p>
        <button
          type="button"
          className="button primary"
          title={t("certainty.mapAllHelp")}
          disabled={working}
          onClick={() => void mapAllAndRebuild()}
        >
          {t("certainty.mapAllRebuild")}
        </button>
      </p>
      {working && <Working said={said} />}
    </>
  );
}

function Working({ said }: { said: string }) {
  return (
    <p className="answer-working" role="status">
      <progress aria-label={said} /> {said}
    </p>
  );
}
