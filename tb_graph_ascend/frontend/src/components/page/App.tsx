/* The whole page: header, answer, strips, lists, diff, details – or what to do when there is nothing. */

import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Group, Panel, Separator } from "react-resizable-panels";

import type { Databases } from "../../api/types";
import { useAddressBar } from "../../hooks/useAddressBar";
import { useBoot } from "../../hooks/useBoot";
import { LEAST_DETAILS, isTall, useGrowingDetails } from "../../hooks/useGrowingDetails";
import { useOnlyTrends } from "../../hooks/useOnlyTrends";
import { useShortcuts } from "../../hooks/useShortcuts";
import { useTips } from "../../hooks/useTips";
import { useTrendAddress } from "../../hooks/useTrendAddress";
import { followFiles } from "../../state/filechanges";
import { useBoxes } from "../../state/boxes";
import { followWindow, useLayout } from "../../state/layout";
import { followHostTheme } from "../../state/preferences";
import { useApp } from "../../state/store";
import { useTrends } from "../../state/trends";
import { AnswerBar } from "../answer/AnswerBar";
import { DiffArea } from "../diff/DiffArea";
import { Header } from "../header/Header";
import { RankStrip } from "../ranks/RankStrip";
import { TrendsArea } from "../trends/TrendsArea";
import { BottomPanel } from "./BottomPanel";
import { DeletedNotice, GoneNotice } from "./GoneNotice";
import { Dialogs } from "./Dialogs";
import { EmptyState } from "./EmptyState";
import { FailureNotice } from "../parts/FailureNotice";
import { LeftPanel } from "./LeftPanel";
import { Notice } from "./Notice";
import { TipBubble } from "./TipBubble";

export function App() {
  const { t } = useTranslation();
  const databases = useBoot();
  useEffect(() => {
    if (databases.data) followFiles(databases.data.databases);
  }, [databases.data]);
  useAddressBar();
  useTrendAddress();
  useOnlyTrends(databases.data);
  const trends = useTrends((state) => state.run);
  useShortcuts();
  useTips();
  useEffect(followHostTheme, []);
  useEffect(followWindow, []);

  if (databases.isError && !databases.data) {
    return <FailureNotice error={databases.error} retry={() => void databases.refetch()} whole />;
  }
  if (!databases.data && trends === null) return <p className="splash">{t("loading")}</p>;
  return (
    <div className="app">
      {databases.data ? <Header databases={databases.data} /> : <header className="header" />}
      <FailureBanner />
      {trends !== null ? <Trends run={trends} /> : databases.data && <Content databases={databases.data} />}
      <Dialogs />
      <Notice />
      <TipBubble />
    </div>
  );
}

function Trends({ run }: { run: string }) {
  const { t } = useTranslation();
  return (
    <>
      <h1 className="sr-only">{t("trendsOf", { run })}</h1>
      <TrendsArea run={run} />
    </>
  );
}

function Content({ databases }: { databases: Databases }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const gone = useApp((state) => state.gone);
  const low = useLayout((state) => state.low);
  if (gone) return <GoneNotice gone={gone} />;
  if (databases.databases.every(({ error }) => error !== null) && db === null) {
    return <EmptyState databases={databases} />;
  }
  if (db === null) return <p className="splash">{t("loading")}</p>;
  return (
    <>
      {databases.databases.every(({ id }) => id !== db) && <DeletedNotice />}
      <AnswerBar />
      {!low && <RankStrip />}
      <Workspace />
    </>
  );
}

/** Wide enough for the names of all lists: 400 pixels, less in a narrow window, more in a very wide one. */
const LISTS_PX = `${Math.max(Math.min(400, Math.max(260, window.innerWidth * 0.3)), window.innerWidth * 0.2)}px`;

/** Room for a head and eight values; what a tall window has beyond that is for the rows, and for longer tables. */
const DETAILS = isTall() ? `${LEAST_DETAILS}px` : "30%";

/** Beside a graph: a third of what the lists leave, so that the larger part is for the graph. */
const BESIDE_PX = `${Math.max(320, window.innerWidth * 0.25)}px`;

function Workspace() {
  const { t } = useTranslation();
  const { lists, compact, wide } = useLayout();
  const { panel, keep } = useGrowingDetails();
  // Rows need the width for both runs; a graph needs the height.
  const beside = useBoxes(({ module }) => module !== null) && wide;
  return (
    <main className="workspace">
      <Group orientation="vertical" id="rows">
        <Panel id="upper" minSize="30%">
          <Group orientation="horizontal" id="columns">
            {lists && (
              <>
                <Panel id="lists" defaultSize={LISTS_PX} minSize="200px" maxSize="45%" groupResizeBehavior="preserve-pixel-size">
                  <LeftPanel />
                </Panel>
                <Separator className="separator vertical" aria-label={t("frame.lists")} />
              </>
            )}
            <Panel id="graphs" minSize="30%">
              <DiffArea />
            </Panel>
            {beside && (
              <>
                <Separator className="separator vertical" aria-label={t("frame.details")} />
                <Panel id="details-beside" defaultSize={BESIDE_PX} minSize="240px" maxSize="60%" groupResizeBehavior="preserve-pixel-size">
                  <BottomPanel beside />
                </Panel>
              </>
            )}
          </Group>
        </Panel>
        {!beside && (
          <>
            <Separator className="separator horizontal" aria-label={t("frame.details")} onPointerDown={keep} onKeyDown={keep} />
            <Panel id="details" panelRef={panel} defaultSize={compact ? "37%" : DETAILS} minSize="90px">
              <BottomPanel />
            </Panel>
          </>
        )}
      </Group>
    </main>
  );
}

function FailureBanner() {
  const failure = useApp((state) => state.failure);
  const set = useApp((state) => state.set);
  if (!failure) return null;
  return (
    <FailureNotice
      error={failure.error}
      retry={() => {
        set({ failure: null });
        failure.retry();
      }}
      dismiss={() => set({ failure: null })}
    />
  );
}
