/* What fingers do on a page that was opened with `hasTouch`. */
import type { CDPSession, Page } from "playwright-core";

export interface Point {
  x: number;
  y: number;
}

/** Longer than the page takes for a long press. */
const RESTS_MS = 500;
const STEPS = 8;

/** One hand on a page: each call says where all its fingers are now. */
export class Fingers {
  private constructor(
    private readonly page: Page,
    private readonly client: CDPSession,
  ) {}

  static async on(page: Page): Promise<Fingers> {
    return new Fingers(page, await page.context().newCDPSession(page));
  }

  down(...at: Point[]): Promise<unknown> {
    return this.send("touchStart", at);
  }

  move(...at: Point[]): Promise<unknown> {
    return this.send("touchMove", at);
  }

  lift(): Promise<unknown> {
    return this.send("touchEnd", []);
  }

  /** Rest on a point, then lift. */
  async press(at: Point): Promise<void> {
    await this.down(at);
    await this.page.waitForTimeout(RESTS_MS);
    await this.lift();
  }

  async doubleTap(at: Point): Promise<void> {
    for (let tap = 0; tap < 2; tap += 1) {
      await this.down(at);
      await this.lift();
    }
  }

  async drag(from: Point, to: Point): Promise<void> {
    await this.down(from);
    for (let step = 1; step <= STEPS; step += 1) await this.move(between(from, to, step / STEPS));
    await this.lift();
  }

  /** Two fingers beside a point, so far apart at first and at last. */
  async pinch({ x, y }: Point, from: number, to: number): Promise<void> {
    const at = (apart: number): Point[] => [{ x: x - apart / 2, y }, { x: x + apart / 2, y }];
    await this.down(...at(from));
    for (let step = 1; step <= STEPS; step += 1) await this.move(...at(from + ((to - from) * step) / STEPS));
    await this.lift();
  }

  private send(type: "touchStart" | "touchMove" | "touchEnd", at: Point[]): Promise<unknown> {
    return this.client.send("Input.dispatchTouchEvent", { type, touchPoints: at.map((point, id) => ({ ...point, id })) });
  }
}

function between(from: Point, to: Point, share: number): Point {
  return { x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) };
}
