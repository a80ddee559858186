// What every randomised answer needs: it is kept before it is sent, by one page at a time, under a number of its own.

/** One page at a time: two that answer at once would randomise twice. */
export function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
  return navigator.locks ? (navigator.locks.request(name, work) as Promise<T>) : work();
}

/** Random, for one answer only: says that it was counted, if it should come twice. */
export function token(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
