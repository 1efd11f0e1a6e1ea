/* The packed data of a page that carries its result: which block holds what, unpacked when asked for. */

import { type RecordColumn, cellsOf } from "./columns";

/** Numbers of one type in one block. */
export interface Column {
  type: "i32" | "f64" | "u8";
  block: number;
}

/** Texts or records, one a line: those of `blocks[n]` begin at the line `starts[n]`. */
export interface Lines {
  starts: number[];
  blocks: number[];
  count: number;
}

/** What the page has of a step and rank that can be shown. */
export interface PairEntry {
  step: number;
  rank: number;
  columns: Record<string, Column>;
  lines: Record<string, Lines>;
  /** Records by column. */
  tables: Record<string, Lines>;
}

/** What lies in the blocks; written by `msprobe page`. */
export interface PageData {
  version: number;
  db: string;
  threshold: number | null;
  /** All steps and ranks of the result, those without nodes too. */
  places: [step: number, rank: number][];
  addresses: string[];
  answers: Lines;
  pairs: PairEntry[];
}

export type Cells = Int32Array | Float64Array | Uint8Array;

export const NOTHING = -1;

/** A cell, NOTHING where there is none. */
export function at(cells: ArrayLike<number>, place: number): number {
  return cells[place] ?? NOTHING;
}

/** Unpacked blocks of lines and records that are kept: what is asked for next is mostly beside what was. */
const MOST_KEPT = 64;

/** Reads what is packed; `read` gives the base64 text of a block. */
export class Blocks {
  private readonly kept = new Map<number, Promise<unknown[]>>();

  constructor(private readonly read: (block: number) => string) {}

  /** All numbers of a column. */
  async column({ type, block }: Column): Promise<Cells> {
    const { buffer } = await this.bytes(block);
    if (type === "u8") return new Uint8Array(buffer);
    return type === "i32" ? new Int32Array(buffer) : new Float64Array(buffer);
  }

  /** One of the texts. */
  line(lines: Lines, line: number): Promise<string> {
    return this.one(lines, line, (text) => text.split("\n")) as Promise<string>;
  }

  /** One of the texts as what it says. */
  async json<T>(lines: Lines, line: number): Promise<T> {
    return JSON.parse(await this.line(lines, line)) as T;
  }

  /** One of the records. */
  record<T>(table: Lines, line: number): Promise<T> {
    return this.one(table, line, (text) => cellsOf(JSON.parse(text) as RecordColumn)) as Promise<T>;
  }

  private async one(lines: Lines, line: number, unpack: (text: string) => unknown[]): Promise<unknown> {
    const part = partOf(lines.starts, line);
    const all = await this.unpacked(lines.blocks[part] ?? 0, unpack);
    const found = all[line - (lines.starts[part] ?? 0)];
    if (line < 0 || line >= lines.count || found === undefined) throw new RangeError(`no line ${line} of ${lines.count}`);
    return found;
  }

  private unpacked(block: number, unpack: (text: string) => unknown[]): Promise<unknown[]> {
    let all = this.kept.get(block);
    if (all === undefined) {
      all = this.bytes(block).then((bytes) => unpack(new TextDecoder().decode(bytes)));
    } else {
      this.kept.delete(block); // the last that was used is the last that is forgotten
    }
    this.kept.set(block, all);
    const [oldest] = this.kept.keys();
    if (this.kept.size > MOST_KEPT && oldest !== undefined) this.kept.delete(oldest);
    return all;
  }

  private async bytes(block: number): Promise<Uint8Array<ArrayBuffer>> {
    const text = atob(this.read(block));
    const packed = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) packed[place] = text.charCodeAt(place);
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(unpacked).arrayBuffer());
  }
}

/** The last part that begins at a place or before it. */
export function partOf(starts: ArrayLike<number>, place: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(starts, middle) <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
