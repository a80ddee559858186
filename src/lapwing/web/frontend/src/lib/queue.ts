// How long one has to wait for the lab, in words: several people may want something at once.
export function queued(place: number): string {
  if (place < 1) return "Waiting for its turn";
  return place === 1 ? "You are next" : `You are number ${place} in the queue`;
}
