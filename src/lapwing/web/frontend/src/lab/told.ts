// What the server wrote into the page.
/** What stands in the page for scripts to read. */
export function told<T>(id: string): T | null {
  const found = document.getElementById(id);
  return found ? (JSON.parse(found.textContent ?? "null") as T) : null;
}
