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
  return own ? decoded(own.slice(KEY.length + 1)) : "";
}

/** A link that was cut or typed wrong leads to the first page, not to none. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Put the state into the address, as a new entry of the history or in place of the last.
 *
 * Inside TensorBoard the entries are those of the plugin's own frame, which Back goes through as
 * well; TensorBoard's address is only renamed, for its router takes each entry for its own. */
export function writeAddress(query: string, entry: "push" | "replace"): void {
  const host = tensorBoardWindow();
  const own = host ? window.location.href : query ? `?${query}` : window.location.pathname;
  if (entry === "push") window.history.pushState({ query }, "", own);
  else window.history.replaceState({ query }, "", own);
  if (host) renameHost(host, query);
}

/** Be told where Back and Forward lead to. */
export function onTravel(arrive: (query: string) => void): () => void {
  const travelled = ({ state }: PopStateEvent): void => {
    const query = (state as { query?: string } | null)?.query ?? readAddress();
    const host = tensorBoardWindow();
    if (host) renameHost(host, query);
    arrive(query);
  };
  window.addEventListener("popstate", travelled);
  return () => window.removeEventListener("popstate", travelled);
}

function renameHost(host: Window, query: string): void {
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
