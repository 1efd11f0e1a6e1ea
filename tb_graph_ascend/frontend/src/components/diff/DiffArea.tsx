/* The middle of the page: the profile, and the rows of both sides. */

import { useTranslation } from "react-i18next";

import { useDiff } from "../../hooks/useDiff";
import { useSession } from "../../hooks/useSession";
import type { GraphSession } from "../../state/session";
import { useBoxes } from "../../state/boxes";
import { BoxPane } from "../boxes/BoxPane";
import { FailureNotice } from "../parts/FailureNotice";
import { ProfileStrip } from "../profile/ProfileStrip";
import { DiffPane } from "./DiffPane";
import { DiffTools } from "./DiffTools";
import { PairMissing } from "./PairMissing";

export function DiffArea() {
  const { t } = useTranslation();
  const session = useSession();
  return (
    <div className="graph-area">
      {session ? <PairView session={session} /> : <p className="message">{t("loading")}</p>}
    </div>
  );
}

function PairView({ session }: { session: GraphSession }) {
  const diff = useDiff(session);
  const graphed = useBoxes(({ module }) => module !== null);
  if (session.pair.status === "failed") return <PairFailed session={session} />;
  if (session.pair.status === "missing") return <PairMissing session={session} />;
  const { db, step, rank } = diff.place;
  return (
    <>
      {diff.error !== null && <FailureNotice error={diff.error} retry={() => diff.retry()} />}
      <ProfileStrip key={`profile ${db} ${step} ${rank}`} diff={diff} />
      <DiffTools session={session} />
      {graphed ? <BoxPane session={session} /> : <DiffPane key={`${db} ${step} ${rank}`} session={session} />}
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
