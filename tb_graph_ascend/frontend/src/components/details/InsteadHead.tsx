/* Over the first row of a call that one run alone makes: of whom the row is, and what it compares. */

import { useTranslation } from "react-i18next";

import type { Node } from "../../api/types";
import { calledAs } from "../../graph/called";
import { selectNode } from "../../state/actions";

export function InsteadHead({ node, reader }: { node: Node; reader: Node }) {
  const { t } = useTranslation();
  return (
    <>
      {t(node.side === "problem" ? "details.insteadBenchmark" : "details.insteadProblem")}{" "}
      <button type="button" className="link" onClick={() => void selectNode(reader.id)}>
        {calledAs(reader)}
      </button>
    </>
  );
}
