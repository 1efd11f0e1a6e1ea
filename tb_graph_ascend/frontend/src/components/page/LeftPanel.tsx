/* The lists beside the graphs, one tab each. */

import * as Tabs from "@radix-ui/react-tabs";
import { useTranslation } from "react-i18next";

import { useDatabase } from "../../hooks/useDatabase";
import { leftTabs } from "../../state/onerun";
import { type LeftTab, useApp } from "../../state/store";
import { CauseList } from "../lists/CauseList";
import { NodeTable } from "../lists/NodeTable";
import { MappingPanel } from "../mapping/MappingPanel";
import { Outline } from "../lists/Outline";
import { OverflowList } from "../lists/OverflowList";

const PANELS: Record<LeftTab, () => React.ReactNode> = {
  causes: CauseList,
  outline: Outline,
  nodes: NodeTable,
  overflow: OverflowList,
  mapping: MappingPanel,
};

export function LeftPanel() {
  const { t } = useTranslation();
  const chosen = useApp((state) => state.leftTab);
  const tabs = leftTabs(useDatabase().data);
  const tab = tabs.includes(chosen) ? chosen : "outline";
  const set = useApp((state) => state.set);
  return (
    <Tabs.Root
      className="panel"
      value={tab}
      onValueChange={(value) => set({ leftTab: value as LeftTab })}
    >
      <Tabs.List className="tabs" aria-label={t("tabs.left")}>
        {tabs.map((one) => (
          <Tabs.Trigger key={one} value={one} className="tab">
            {t(`tabs.${one}`)}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {tabs.map((one) => {
        const Content = PANELS[one];
        return (
          <Tabs.Content key={one} value={one} className="panel-content" tabIndex={-1}>
            <Content />
          </Tabs.Content>
        );
      })}
    </Tabs.Root>
  );
}
