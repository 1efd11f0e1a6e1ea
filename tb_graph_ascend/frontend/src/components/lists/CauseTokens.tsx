/* At which tokens what a cause puts out is apart, where the tokens of both runs were aligned. */

import { useQuery } from "@tanstack/react-query";

import { tokensQuery } from "../../api/queries";
import type { Cause } from "../../api/types";
import { findingLine } from "../../graph/tokenline";
import { useApp } from "../../state/store";
import { TokenLine } from "../parts/TokenLine";

export function CauseTokens({ cause }: { cause: Cause }) {
  const db = useApp((state) => state.db);
  const { node, reasons } = cause.finding;
  const aligned = reasons.some(({ code }) => code === "begins_at_token");
  const told = useQuery({ ...tokensQuery(db ?? "", node.id), enabled: db !== null && aligned }).data;
  const line = told && findingLine(told);
  if (!line) return null;
  return (
    <div className="propagated">
      <TokenLine cells={told.cells} line={line} />
    </div>
  );
}
