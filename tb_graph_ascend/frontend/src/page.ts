/* The entry of a page that carries its result: answers requests out of itself and starts the interface. */

import { answerBy } from "./api/client";
import { mount } from "./mount";
import { Blocks, type PageData } from "./offline/blocks";
import { Router } from "./offline/router";

const VERSION = 2;

function textOf(id: string): string {
  const text = document.getElementById(id)?.textContent;
  if (text == null) throw new Error(`the page has lost its part ${id}; write it again with msprobe page`);
  return text;
}

function start(): void {
  const root = document.getElementById("tb-graph-ascend");
  if (root === null) return;
  const data = JSON.parse(textOf("page-data")) as PageData;
  if (data.version !== VERSION) throw new Error(`the page is of version ${data.version}, its program of ${VERSION}`);
  const router = new Router(new Blocks((block) => textOf(`block-${block}`)), data);
  answerBy((url, init) => router.answer(url, init));
  mount(root);
}

start();
