/* A page that carries its result, as the journeys and the comparison with the server take it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Blocks, type PageData } from "../../tb_graph_ascend/frontend/src/offline/blocks";
import { Router } from "../../tb_graph_ascend/frontend/src/offline/router";
import { python } from "./setup";

/** Write a result of a log folder as a page beside it. */
export function writePage(logdir: string, name: string): string {
  const page = join(logdir, name, `${name}.html`);
  python(["-m", "msprobe", "page", join(logdir, name, `${name}.vis.db`), "-o", page]);
  return page;
}

/** What answers in a page, over the text of its file. */
export function routerOf(page: string): { router: Router; data: PageData } {
  const parts = new Map<string, string>();
  const text = readFileSync(page, "utf8");
  for (const [, id = "", content = ""] of text.matchAll(/<script type="application\/[a-z-]+" id="([^"]+)">([^]*?)<\/script>/g)) {
    parts.set(id, content);
  }
  const data = JSON.parse(parts.get("page-data") ?? "") as PageData;
  return { router: new Router(new Blocks((block) => parts.get(`block-${block}`) ?? ""), data), data };
}
