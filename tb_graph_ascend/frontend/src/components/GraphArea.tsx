/* The middle of the page: matrix while no cell is chosen, the tools, and one or two graphs. */

import { useTranslation } from "react-i18next";

import { useDatabase } from "../hooks/useDatabase";
import { useSession } from "../hooks/useSession";
import type { GraphSession } from "../state/session";
import { useApp } from "../state/store";
import { FailureNotice } from "./FailureNotice";
import { GraphPane } from "./GraphPane";
import { GraphTools } from "./GraphTools";
import { Matrix } from "./Matrix";

export function GraphArea() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const session = useSession();
  const chosen = useApp((state) => state.pairChosen);
  return (
    <div className="graph-area">
      {data && data.pairs.length > 1 && !chosen && <Matrix database={data} />}
      {session ? <PairView session={session} /> : <p className="message">{t("loading")}</p>}
    </div>
  );
}

function PairView({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  if (session.pair.status === "failed") return <PairFailed session={session} />;
  const sides = (["problem", "benchmark"] as const).filter((side) => session.tree(side));
  return (
    <>
      {session.error !== null && (
        <FailureNotice error={session.error} retry={() => session.retry()} />
      )}
      {session.pair.status === "missing" && (
        <p className="banner">
          {t("graph.missing")}
          {session.pair.error !== null && `: ${session.pair.error}`}
        </p>
      )}
      <GraphTools session={session} />
      <div className="panes">
        {sides.map((side) => (
          <GraphPane key={`${side} ${session.pair.step} ${session.pair.rank} ${session.db}`} session={session} side={side} />
        ))}
      </div>
    </>
  );
}

function PairFailed({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  return (
    <div className="pair-failed" role="alert">
      <h2>{t("graph.failed")}</h2>
      <pre>{session.pair.error}</pre>
    </div>
  );
}
