/* What is known of the selected node: values, stack, communication, and how it fared elsewhere. */

import * as Tabs from "@radix-ui/react-tabs";
import { useTranslation } from "react-i18next";

import type { NodeDetails } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { useSelection } from "../../hooks/useSelection";
import { bottomTabs } from "../../state/onerun";
import { type BottomTab, useApp } from "../../state/store";
import { AboutComparison } from "./AboutComparison";
import { AcrossPanel } from "../details/AcrossPanel";
import { CommunicationPanel } from "../details/CommunicationPanel";
import { FailureNotice } from "../parts/FailureNotice";
import { PairsPanel } from "../details/PairsPanel";
import { PicturesPanel } from "../details/PicturesPanel";
import { SelectedHead } from "../details/SelectedHead";
import { StackPanel } from "../details/StackPanel";
import { TracePanel } from "../details/TracePanel";
import { ValuesPanel } from "../details/ValuesPanel";

const PANELS: Record<BottomTab, (props: { details: NodeDetails }) => React.ReactNode> = {
  values: ValuesPanel,
  trace: TracePanel,
  stack: StackPanel,
  pictures: PicturesPanel,
  across: AcrossPanel,
  communication: CommunicationPanel,
};

/** Below the rows, or `beside` the graph. */
export function BottomPanel({ beside = false }: { beside?: boolean }) {
  const { t } = useTranslation();
  const chosen = useApp((state) => state.bottomTab);
  const tabs = bottomTabs(useDatabase().data);
  const tab = tabs.includes(chosen) ? chosen : "values";
  const set = useApp((state) => state.set);
  const { selected, details } = useSelection();
  return (
    <Tabs.Root
      className={beside ? "panel bottom beside" : "panel bottom"}
      value={tab}
      onValueChange={(value) => set({ bottomTab: value as BottomTab })}
    >
      <div className="bottom-head">
        <Tabs.List className="tabs" aria-label={t("tabs.bottom")}>
          {tabs.map((one) => (
            <Tabs.Trigger key={one} value={one} className="tab">
              {t(`tabs.${one}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {selected !== null && details.data && <SelectedHead details={details.data} />}
      </div>
      {tabs.map((one) => (
        <Tabs.Content key={one} value={one} className="panel-content" tabIndex={-1}>
          <TabBody tab={one} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

function TabBody({ tab }: { tab: BottomTab }) {
  const { t } = useTranslation();
  const { selected, details } = useSelection();
  const { data } = useDatabase();
  const Content = PANELS[tab];
  if (selected === null) return tab === "across" && data && data.pairs.length > 1 ? <PairsPanel database={data} /> : <AboutComparison />;
  if (details.isError) {
    return <FailureNotice error={details.error} retry={() => void details.refetch()} />;
  }
  if (!details.data) return <p className="message">{t("loading")}</p>;
  return <Content details={details.data} />;
}
