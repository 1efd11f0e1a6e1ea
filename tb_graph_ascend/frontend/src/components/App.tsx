/* The whole page: header, matrix, lists, graphs, details – or what to do when there is nothing. */

import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Group, Panel, Separator } from "react-resizable-panels";

import { useAddressBar } from "../hooks/useAddressBar";
import { useBoot } from "../hooks/useBoot";
import { useShortcuts } from "../hooks/useShortcuts";
import { followHostTheme, usePreferences } from "../state/preferences";
import { useApp } from "../state/store";
import { BottomPanel } from "./BottomPanel";
import { Dialogs } from "./Dialogs";
import { EmptyState } from "./EmptyState";
import { FailureNotice } from "./FailureNotice";
import { GraphArea } from "./GraphArea";
import { Header } from "./Header";
import { LeftPanel } from "./LeftPanel";
import { Notice } from "./Notice";

export function App() {
  const { t } = useTranslation();
  const databases = useBoot();
  const db = useApp((state) => state.db);
  const theme = usePreferences((state) => state.theme);
  useAddressBar();
  useShortcuts();
  useEffect(followHostTheme, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);

  if (databases.isError && !databases.data) {
    return <FailureNotice error={databases.error} retry={() => void databases.refetch()} whole />;
  }
  if (!databases.data) return <p className="splash">{t("loading")}</p>;
  return (
    <div className="app">
      <Header databases={databases.data} />
      <FailureBanner />
      {db === null ? <EmptyState databases={databases.data} /> : <Workspace />}
      <Dialogs />
      <Notice />
    </div>
  );
}

/** Wide enough for the names of all lists, narrower where the window is. */
const LISTS_PX = `${Math.min(372, Math.max(354, window.innerWidth * 0.26))}px`;

function Workspace() {
  const { t } = useTranslation();
  return (
    <main className="workspace">
      <Group orientation="vertical" id="rows">
        <Panel id="upper" minSize="30%">
          <Group orientation="horizontal" id="columns">
            <Panel id="lists" defaultSize={LISTS_PX} minSize="220px" groupResizeBehavior="preserve-pixel-size">
              <LeftPanel />
            </Panel>
            <Separator className="separator vertical" aria-label={t("frame.lists")} />
            <Panel id="graphs" minSize="30%">
              <GraphArea />
            </Panel>
          </Group>
        </Panel>
        <Separator className="separator horizontal" aria-label={t("frame.details")} />
        <Panel id="details" defaultSize="30%" minSize="90px" groupResizeBehavior="preserve-pixel-size">
          <BottomPanel />
        </Panel>
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
