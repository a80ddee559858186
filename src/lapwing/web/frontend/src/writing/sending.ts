// Files that an author sends from the desk.
export type Sent = Record<string, string>;

/** A file field that nobody sees, for a button; `send` gets what was chosen. */
export function chooser(
  label: string,
  accept: string,
  send: (...files: File[]) => Promise<void>,
  several = false,
): HTMLInputElement {
  const field = document.createElement("input");
  field.type = "file";
  field.accept = accept;
  field.hidden = true;
  field.multiple = several;
  field.setAttribute("aria-label", label);
  field.addEventListener("change", () => {
    const files = [...(field.files ?? [])];
    if (files.length) void send(...files).finally(() => (field.value = ""));
  });
  return field;
}

/** Sends files, by the names of their fields; gives where they are now, or why they were not taken. */
export async function sent(address: string, files: Record<string, File>, csrf: string): Promise<Sent | string> {
  const form = new FormData();
  for (const [name, file] of Object.entries(files)) form.set(name, file);
  const headers = { accept: "application/json", "x-csrf-token": csrf };
  const answer = await fetch(address, { method: "POST", headers, body: form }).catch(() => null);
  const told = answer ? ((await answer.json().catch(() => ({}))) as Sent) : {};
  return answer?.ok ? told : (told.detail ?? "The file could not be sent. Try again.");
}
