/* How far a build is, pair by pair and phase by phase, what it said, and what became of it. */

import { useTranslation } from "react-i18next";

import { PHASES, type Build } from "../../api/types";

/** More pairs than these are only counted. */
const MOST_SHOWN = 4;

export function BuildProgress({ build }: { build: Build }) {
  const { t } = useTranslation();
  const { state, done, total, running, log, error } = build;
  const around = aroundPairs(build);
  return (
    <div className="build-progress">
      <p role="status">
        <strong>{t(`build.state.${state}`)}</strong>{" "}
        {total > 0 && t("build.progress", { done, total })}
        {around && <span className="muted"> · {t(`build.around.${around}`)}</span>}
      </p>
      <progress
        aria-label={t("build.progress", { done, total })}
        max={Math.max(1, total)}
        {...(state === "running" && total === 0 ? {} : { value: state === "done" ? Math.max(1, total) : shareOf(build) })}
      />
      {running.length > 0 && (
        <ul className="build-pairs">
          {running.slice(0, MOST_SHOWN).map(({ step, rank, phase }) => (
            <li key={`${step} ${rank}`}>
              {t("build.pair", { step, rank })}: {t(`build.phase.${phase}`)}{" "}
              <span className="muted">{t("build.phaseOf", { number: PHASES.indexOf(phase) + 1, count: PHASES.length })}</span>
            </li>
          ))}
        </ul>
      )}
      {error !== null && <pre className="refused">{error}</pre>}
      {log.length > 0 && <pre className="log">{log.join("\n")}</pre>}
    </div>
  );
}

/** What a running build does that belongs to no pair. */
function aroundPairs({ state, done, total, running }: Build): "planning" | "finishing" | null {
  if (state !== "running" || running.length > 0) return null;
  return total > 0 && done === total ? "finishing" : "planning";
}

/** Pairs done, with the phases that others have behind them. */
function shareOf({ done, running }: Build): number {
  return running.reduce((sum, { phase }) => sum + PHASES.indexOf(phase) / PHASES.length, done);
}
