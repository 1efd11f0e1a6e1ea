/* The lists beside the graphs, one tab each. */

import * as Tabs from "@radix-ui/react-tabs";
import { useTranslation } from "react-i18next";

import { LEFT_TABS, type LeftTab, useApp } from "../../state/store";
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
  const tab = useApp((state) => state.leftTab);
  const set = useApp((state) => state.set);
  return (
    <Tabs.Root
      className="panel"
      value={tab}
      onValueChange={(value) => set({ leftTab: value as LeftTab })}
    >
      <Tabs.List className="tabs" aria-label={t("tabs.left")}>
        {LEFT_TABS.map((one) => (
          <Tabs.Trigger key={one} value={one} className="tab">
            {t(`tabs.${one}`)}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {LEFT_TABS.map((one) => {
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
