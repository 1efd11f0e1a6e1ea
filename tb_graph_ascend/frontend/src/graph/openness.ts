/* What is open, as text: `12` opens a node, `12a` all below it, `-12` closes it, `f12` unfolds the
 * run of repeats that begins at it. Later tokens go before earlier ones. */

export class Openness {
  private constructor(private readonly tokens: readonly string[]) {}

  /** Read a text; what is no token is left out rather than refused. */
  static parse(text: string): Openness {
    return new Openness(text.split(".").filter((token) => /^(?:[f-]?\d{1,18}|\d{1,18}a)$/.test(token)));
  }

  get text(): string {
    return this.tokens.join(".");
  }

  open(key: number): Openness {
    return this.without(`${key}`, `-${key}`).with(`${key}`);
  }

  close(key: number): Openness {
    const left = this.without(`${key}`, `${key}a`, `-${key}`);
    // Something above may still open all below it.
    return left.tokens.some((token) => token.endsWith("a")) ? left.with(`-${key}`) : left;
  }

  openAll(key: number): Openness {
    return this.without(`${key}`, `${key}a`).with(`${key}a`);
  }

  unfold(key: number): Openness {
    return this.without(`f${key}`).with(`f${key}`);
  }

  fold(key: number): Openness {
    return this.without(`f${key}`);
  }

  /** The same in a pair whose nodes have other ids. */
  shifted(by: (key: number) => number | null): Openness {
    const moved = this.tokens.flatMap((token) => {
      const [, mark = "", key = "", all = ""] = /^([f-]?)(\d+)(a?)$/.exec(token) ?? [];
      const there = by(Number(key));
      return there === null ? [] : [`${mark}${there}${all}`];
    });
    return new Openness(moved);
  }

  private with(token: string): Openness {
    return new Openness([...this.tokens, token]);
  }

  private without(...gone: string[]): Openness {
    return new Openness(this.tokens.filter((token) => !gone.includes(token)));
  }
}
