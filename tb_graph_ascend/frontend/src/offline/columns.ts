/* Records by column, as `offline/packed_columns.py` packs them. */

export type RecordColumn =
  | { all: unknown; count: number }
  | { steps: number[] }
  | { without: RecordColumn; of: RecordColumn }
  | { sizes: RecordColumn; items: RecordColumn }
  | { shapes: string[][]; which: RecordColumn; fields: Record<string, RecordColumn> }
  | { plain: unknown[] };

/** The cells of a column. */
export function cellsOf(column: RecordColumn): unknown[] {
  if ("all" in column) return Array.from({ length: column.count }, () => column.all);
  if ("steps" in column) return summed(column.steps);
  if ("without" in column) return withGaps(cellsOf(column.of), cellsOf(column.without) as number[]);
  if ("sizes" in column) return lists(cellsOf(column.items), cellsOf(column.sizes) as number[]);
  return "shapes" in column ? objects(column.shapes, column.which, column.fields) : column.plain;
}

function summed(steps: readonly number[]): number[] {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

function withGaps(cells: readonly unknown[], gaps: readonly number[]): unknown[] {
  const all: unknown[] = [];
  let [cell, gap] = [0, 0];
  while (cell < cells.length || gap < gaps.length) {
    if (gaps[gap] === all.length) {
      all.push(null);
      gap += 1;
    } else {
      all.push(cells[cell]);
      cell += 1;
    }
  }
  return all;
}

function lists(items: readonly unknown[], sizes: readonly number[]): unknown[][] {
  let end = 0;
  return sizes.map((size) => items.slice(end, (end += size)));
}

function objects(shapes: readonly string[][], which: RecordColumn, fields: Record<string, RecordColumn>): unknown[] {
  const cells = new Map(Object.entries(fields).map(([name, column]) => [name, cellsOf(column).values()]));
  return (cellsOf(which) as number[]).map((shape) => {
    const names = shapes[shape] ?? [];
    return Object.fromEntries(names.map((name) => [name, cells.get(name)?.next().value]));
  });
}
