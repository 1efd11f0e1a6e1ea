/* Of a call that one run alone makes: its output beside what the other run passes on in its place. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { detailsQuery } from "../../api/queries";
import type { FlowLink, NodeDetails, ValuePair } from "../../api/types";
import { calledAs } from "../../graph/called";
import { otherSide } from "../../graph/mapdrag";
import { selectNode } from "../../state/actions";
import type { Column } from "../../state/columns";
import { useApp } from "../../state/store";
import { ValueTable } from "./ValueTable";

interface Props {
  details: NodeDetails;
  consumers: readonly FlowLink[];
  columns: Column[];
}

export function Instead({ details: { node }, consumers, columns }: Props) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  // A reader that both runs have tells what the other run gives it.
  const reader = consumers.find((link) => link.node.match !== null);
  const answer = useQuery({
    ...detailsQuery(db ?? "", reader?.node.id ?? 0),
    enabled: db !== null && reader !== undefined,
  });
  const other = otherSide(node.side);
  // The answer may still be of the call before; ids tell.
  const value = answer.data?.values.find((one) => one[node.side]?.id === reader?.value);
  if (!reader || value?.[other] == null) return null;
  const shown: ValuePair = { ...value, worst: false };
  return (
    <section className="instead">
      <h3>
        {t(node.side === "problem" ? "details.insteadBenchmark" : "details.insteadProblem")}{" "}
        <button type="button" className="link" onClick={() => void selectNode(reader.node.id)}>
          {calledAs(reader.node)}
        </button>
      </h3>
      <ValueTable values={[shown]} columns={columns} className="instead-table" />
    </section>
  );
}
