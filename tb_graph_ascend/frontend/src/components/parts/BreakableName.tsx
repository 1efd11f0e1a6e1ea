/* A long dotted name that wraps after its dots, so that words stay whole. */

import { Fragment } from "react";

export function BreakableName({ name }: { name: string }) {
  const parts = name.split(".");
  return parts.map((part, index) => (
    <Fragment key={index}>
      {index > 0 && (
        <>
          .<wbr />
        </>
      )}
      {part}
    </Fragment>
  ));
}
