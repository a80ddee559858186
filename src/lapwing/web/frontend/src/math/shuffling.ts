// Reports without a name, in a random order: how much more noise-free they may be than reports with a name.

/** What everybody learns from n shuffled reports of local loss ε₀, at most, or no better than local where the theorem ends. Feldman, McMillan and Talwar 2021. */
export function shuffledLoss(local: number, people: number, delta: number): number {
  if (local > furthest(people, delta)) return local;
  const odds = Math.exp(local);
  const hidden = 8 * Math.sqrt((odds * Math.log(4 / delta)) / people) + (8 * odds) / people;
  return Math.min(local, Math.log1p(((odds - 1) / (odds + 1)) * hidden));
}

const furthest = (people: number, delta: number): number => Math.log(people / (16 * Math.log(2 / delta)));

/** The largest local loss whose shuffled reports keep to ε: at least ε itself. */
export function localLoss(epsilon: number, people: number, delta: number): number {
  let high = furthest(people, delta);
  if (!(high > epsilon)) return epsilon;
  if (shuffledLoss(high, people, delta) <= epsilon) return high;
  let low = epsilon;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (shuffledLoss(middle, people, delta) <= epsilon) low = middle;
    else high = middle;
  }
  return low;
}
