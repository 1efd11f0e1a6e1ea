/* A question that the page refuses as the server would. */

import type { Failure } from "../api/types";

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly body: Failure,
  ) {
    super(body.error);
    this.name = "Refused";
  }
}

/** A query that cannot be read; the page says it again in its own language by the reason. */
export function badQuery(error: string, hint: string, reason: NonNullable<Failure["reason"]>): Refused {
  return new Refused(400, { error: `q: ${error}`, hint, reason });
}

export function notHere(what: string): Refused {
  return new Refused(404, { error: `${what}: not in this page`, hint: "open the result with `msprobe serve`" });
}
