/* Where the state is written: the page's own address, or, inside TensorBoard's frame, the part of
 * TensorBoard's address that belongs to this plugin – so that the address people copy is complete. */

const PLUGIN = "tb_graph_ascend";
const KEY = `p.${PLUGIN}.view`;

/** The query string that the current address carries. */
export function readAddress(): string {
  const host = tensorBoardWindow();
  if (!host) return window.location.search.slice(1);
  const parts = host.location.hash.slice(1).split("&");
  const own = parts.find((part) => part.startsWith(`${KEY}=`));
  return own ? decodeURIComponent(own.slice(KEY.length + 1)) : "";
}

/** Replace the state in the address without a new history entry. */
export function writeAddress(query: string): void {
  const host = tensorBoardWindow();
  if (!host) {
    window.history.replaceState(null, "", query ? `?${query}` : window.location.pathname);
    return;
  }
  const parts = host.location.hash.slice(1).split("&");
  // Another tab of TensorBoard may be in front by now; its address is not ours to change.
  if (parts[0] !== "" && parts[0] !== PLUGIN) return;
  const others = parts.slice(1).filter((part) => !part.startsWith(`${KEY}=`));
  const hash = [PLUGIN, ...others, `${KEY}=${encodeURIComponent(query)}`].join("&");
  host.history.replaceState(host.history.state, "", `#${hash}`);
}

/** The address that opens the same view elsewhere. */
export function shareableAddress(): string {
  return (tensorBoardWindow() ?? window).location.href;
}

/** The embedding window when it is TensorBoard on the same origin. */
export function tensorBoardWindow(): Window | null {
  if (window.parent === window) return null;
  try {
    return window.parent.document.querySelector("tb-webapp, tf-tensorboard") ? window.parent : null;
  } catch {
    return null; // another origin embeds us
  }
}
