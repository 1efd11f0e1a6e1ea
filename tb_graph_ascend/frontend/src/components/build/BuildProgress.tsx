/* How far a build is, what it said, and what became of it. */

import { useTranslation } from "react-i18next";

import type { Build } from "../../api/buildtypes";

export function BuildProgress({ build }: { build: Build }) {
  const { t } = useTranslation();
  const { state, done, total, log, error } = build;
  return (
    <div className="build-progress">
      <p role="status">
        <strong>{t(`build.state.${state}`)}</strong>{" "}
        {total > 0 && t("build.progress", { done, total })}
        {state === "running" && <span className="muted"> · {t(`build.phase.${phaseOf(build)}`)}</span>}
      </p>
      <progress
        aria-label={t("build.progress", { done, total })}
        max={Math.max(1, total)}
        {...(state === "running" && total === 0 ? {} : { value: state === "done" ? Math.max(1, total) : done })}
      />
      {error !== null && <pre className="refused">{error}</pre>}
      {log.length > 0 && <pre className="log">{log.join("\n")}</pre>}
    </div>
  );
}

/** What a running build is at: it counts a pair once that is compared. */
function phaseOf({ done, total }: Build): "first" | "pairs" | "writing" {
  if (total === 0) return "first";
  return done < total ? "pairs" : "writing";
}
