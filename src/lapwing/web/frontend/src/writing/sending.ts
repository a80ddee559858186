// Files that an author sends from the desk.
export interface Sent {
  address: string;
}

/** A file field that nobody sees, for a button; `send` gets what was chosen. */
export function chooser(label: string, accept: string, send: (file: File) => Promise<void>): HTMLInputElement {
  const field = document.createElement("input");
  field.type = "file";
  field.accept = accept;
  field.hidden = true;
  field.setAttribute("aria-label", label);
  field.addEventListener("change", () => {
    const file = field.files?.[0];
    if (file) void send(file).finally(() => (field.value = ""));
  });
  return field;
}

/** Sends a file; gives where it is now, or why it was not taken. */
export async function sent(address: string, name: string, file: File, csrf: string): Promise<Sent | string> {
  const form = new FormData();
  form.set(name, file);
  const headers = { accept: "application/json", "x-csrf-token": csrf };
  const answer = await fetch(address, { method: "POST", headers, body: form }).catch(() => null);
  const told = answer ? ((await answer.json().catch(() => ({}))) as Partial<Sent> & { detail?: string }) : {};
  if (answer?.ok && told.address) return { address: told.address };
  return told.detail ?? "The file could not be sent. Try again.";
}
