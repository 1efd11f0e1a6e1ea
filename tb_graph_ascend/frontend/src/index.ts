/* The stable entry: TensorBoard imports it and calls `render`; the standalone page starts itself.
 * It stays tiny, because it is the only script that cannot be cached by content hash. */

const ROOT_ID = "tb-graph-ascend";

/** Mount the interface into the document, making its root element where the host has none. */
export async function render(): Promise<void> {
  const { mount } = await import(/* webpackChunkName: "app" */ "./mount");
  mount(document.getElementById(ROOT_ID) ?? createRootElement());
}

function createRootElement(): HTMLElement {
  const element = document.createElement("div");
  element.id = ROOT_ID;
  document.body.append(element);
  return element;
}

if (document.querySelector(`#${ROOT_ID}[data-standalone]`)) {
  void render();
}
