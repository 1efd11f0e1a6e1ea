/* Copying, which needs two ways. */

/** The clipboard, or the old way where a frame or plain http has none. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    // The one way left where the clipboard's interface is missing.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    document.execCommand("copy");
    area.remove();
  }
}
