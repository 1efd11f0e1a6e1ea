/* The way from the selected node back to its cause: which output fed which input, hop by hop. */

import { useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { detailsQuery, flowQuery, traceQuery } from "../../api/queries";
import type { Cause, Node, NodeDetails, PlacedHop, SameCause } from "../../api/types";
import { calledAs, calledByName } from "../../graph/called";
import { labelOfName } from "../../graph/labels";
import { SHOWN } from "../../graph/words";
import { useAnswer } from "../../hooks/useAnswer";
import { useShares } from "../../hooks/useShares";
import { goTo, selectNode } from "../../state/actions";
import { causeAt, healing, leadsToMore, perhapsFrom, senderTo } from "../../state/causes";
import { isSameCause } from "../../state/samecause";
import { useApp } from "../../state/store";
import { CauseScore } from "../parts/CauseScore";
import { FailureNotice } from "../parts/FailureNotice";
import { NodeScore } from "../parts/NodeScore";
import { FlowEnds } from "./FlowEnds";

export function TracePanel({ details: { node } }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const answer = useQuery({ ...traceQuery(db ?? "", node.id), enabled: db !== null });
  const causes = useAnswer().data?.causes;
  if (answer.isError) return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <p className="message">{t("loading")}</p>;
  const { hops, finding, differs } = answer.data;
  if (finding === null && hops.length < 2 && !differs) {
    return <p className="message">{t(whyNone(hops[0]))}</p>;
  }
  const perhaps = causes ? perhapsFrom(causes, hops) : -1;
  return (
    <div className="scroll trace">
      {finding !== null && hops.length > 1 && (
        <p className="muted trace-told">{t(perhaps === 1 && hops[1]?.link === "cause" ? "trace.unnamed" : hops.some(({ step }) => step !== null) ? "trace.toldBack" : "trace.told")}</p>
      )}
      <ol>
        {hops.map((hop, index) => (
          <TraceHop
            key={hop.node}
            hop={hop}
            found={finding !== null && index === hops.length - 1}
            perhaps={perhaps >= 0 && index >= perhaps}
          />
        ))}
      </ol>
      {finding !== null && hops.length === 1 && <Readers node={node.id} />}
      {finding === null && <OpenEnd node={hops[hops.length - 1]?.node ?? node.id} before={hops[hops.length - 1]?.step ?? null} />}
    </div>
  );
}

/** Why no way leads back from a node of which no cause is known. */
function whyNone(start: PlacedHop | undefined): "trace.alone" | "trace.close" | "trace.none" {
  if (start?.matched === false && start.score === null) return "trace.alone";
  return Math.max(start?.score ?? 0, start?.input_score ?? 0) >= SHOWN ? "trace.close" : "trace.none";
}

/** Where a way ends without a cause: at a call that got the difference from another rank, or nobody knows why.
 * `before` is the step in which it ends, where that is an earlier one. */
function OpenEnd({ node, before }: { node: number; before: number | null }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const shown = useApp((state) => state.step) ?? 0;
  const step = before ?? shown;
  const { data } = useQuery({ ...detailsQuery(db ?? "", node), enabled: db !== null });
  const threshold = useAnswer().data?.threshold;
  const came = useShares(step)?.came;
  const again = useShares(step)?.again;
  const causes = useAnswer().data?.causes ?? [];
  const sender = data && threshold !== undefined ? senderTo(data, threshold) : null;
  if (data && again && isSameCause(causes, again, data.node)) return <SameCauseEnd again={again} node={data.node} />;
  if (!data || !sender) {
    // All that differs runs behind the call by which it came in: the way goes on from there.
    return (
      <>
        <p className="message">{t("trace.open")}</p>
        {came?.before === 0 && (
          <p className="message">
            {t("trace.behind", { call: calledByName(came.name), rank: came.peer_rank })}{" "}
            <button type="button" className="link" onClick={() => void goTo({ step, rank: came.peer_rank, node: came.peer_node })}>
              {t("details.jump", { rank: came.peer_rank })}
            </button>
          </p>
        )}
      </>
    );
  }
  const { peer_rank: rank, peer_node: there } = sender;
  return (
    <>
      <p className="message">
        {t("notes.cameIn", { call: calledAs(data.node), rank })}{" "}
        {there !== null && (
          <button type="button" className="link" onClick={() => void goTo({ step, rank, node: there })}>
            {t("details.jump", { rank })}
          </button>
        )}
      </p>
      {there !== null && <WayThere node={there} rank={rank} />}
    </>
  );
}

/** The way ends where a cause of an earlier step adds its difference again. */
function SameCauseEnd({ again, node }: { again: SameCause; node: Node }) {
  const { t } = useTranslation();
  const rank = useApp((state) => state.rank);
  const { step, first } = again;
  return (
    <p className="message">
      {t("trace.sameCause", { call: calledAs(node), step })}{" "}
      {rank !== null && (
        <button type="button" className="link" onClick={() => void goTo({ step, rank, node: first })}>
          {t("graph.missingCause")}
        </button>
      )}
    </p>
  );
}

/** The way goes on where the difference was sent from. */
function WayThere({ node, rank }: { node: number; rank: number }) {
  const db = useApp((state) => state.db);
  const { data } = useQuery({ ...traceQuery(db ?? "", node), enabled: db !== null });
  if (data?.finding == null) return null;
  return (
    <ol>
      {data.hops.map((hop, index) => (
        <TraceHop key={hop.node} hop={{ ...hop, step: hop.step ?? data.step }} on={rank} found={index === data.hops.length - 1} perhaps={false} />
      ))}
    </ol>
  );
}

/** At the cause itself no way leads back; the way on begins with who reads it. */
function Readers({ node }: { node: number }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const { data } = useQuery({ ...flowQuery(db ?? "", node), enabled: db !== null });
  if (!data || data.consumers.length === 0) return null;
  return (
    <p className="trace-readers">
      <span className="muted">{t("notes.readers")}</span>
      <FlowEnds links={data.consumers} direction="to" />
    </p>
  );
}

interface HopProps {
  hop: PlacedHop;
  found: boolean;
  /** What leads here is a guess. */
  perhaps: boolean;
  /** The rank where it is, where that is another. */
  on?: number;
}

function TraceHop({ hop, found, perhaps, on }: HopProps) {
  const { t } = useTranslation();
  const cause = causeAt(useAnswer().data?.causes ?? [], hop.node);
  // The scores of a pair stand at the problem's node, which is the next on the way.
  const isToldElsewhere = cause !== undefined || (hop.side === "benchmark" && hop.matched);
  const selected = useApp((state) => state.selected);
  const labelled = labelOfName(hop.name);
  const name = labelled.kind === "collection" ? t("trace.between") : calledAs({ ...hop, ...labelled });
  const shown = useApp((state) => state.rank);
  const rank = on ?? shown;
  const go = (): void => void (hop.step === null || rank === null ? selectNode(hop.node) : goTo({ step: hop.step, rank, node: hop.node }));
  return (
    <li className={found ? "found" : undefined}>
      <span className="trace-link muted" title={hop.link === "input" && !hop.exact ? t("details.flowGuess") : undefined}>
        {perhaps && hop.link === "cause" ? t("trace.perhaps") : linkText(t, hop)}
      </span>
      <button type="button" className="link" title={hop.name} aria-current={hop.node === selected} onClick={go}>
        {name}
      </button>
      {hop.module !== null && !isItself(name, hop.module) && (
        <span className="muted trace-module" title={hop.module}>
          {t("trace.within", { module: hop.module })}
        </span>
      )}
      {!hop.matched && <span className="muted">{t(hop.side === "benchmark" ? "diff.word.only_benchmark" : "diff.word.only_problem")}</span>}
      {on !== undefined ? (
        <span className="tag">{t("findings.rank", { rank: on })}</span>
      ) : (
        hop.step !== null && <span className="tag">{t("trace.inStep", { step: hop.step })}</span>
      )}
      {(hop.score !== null || !isToldElsewhere) && <NodeScore score={hop.score} input={hop.input_score} />}
      {cause && (hop.score === null || leadsToMore(cause)) && <CauseScore cause={cause} />}
      {found && <EndTag cause={cause} perhaps={perhaps} />}
    </li>
  );
}

/** What is at the end of a way: a beginning, or where the runs part and come together again. */
function EndTag({ cause, perhaps }: { cause: Cause | undefined; perhaps: boolean }) {
  const { t } = useTranslation();
  if (cause && healing(cause)) return <span className="tag">{t("trace.heals")}</span>;
  return <span className="tag start">{t(perhaps ? "trace.perhapsBegins" : "trace.begins")}</span>;
}

function linkText(t: TFunction, { link, value, exact, step }: PlacedHop): string {
  // Equal values are a sign and no record: the sentence says which of the two it is.
  if (link === "input" && !exact) return value === null ? t("trace.unnamedGuess") : t("trace.inputGuess", { value });
  return t(`trace.${link}`, { value: value ?? "", step });
}

/** Whether a hop is a call of the module that it is said to stand in, whichever of its calls it is. */
function isItself(name: string, module: string): boolean {
  return name.replace(/ ↩$/, "").replace(/ #\d+$/, "") === module;
}
