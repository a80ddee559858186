// Values between computed ones.
/** On the line between its two neighbours, both axes being logarithmic; beyond the ends the value of the end. */
export function between(points: readonly (readonly [number, number])[], at: number): number {
  const next = points.findIndex(([x]) => x >= at);
  if (next < 0) return points[points.length - 1]![1];
  if (!next || points[next]![0] === at) return points[next]![1];
  const [[a, low], [b, high]] = [points[next - 1]!, points[next]!];
  return low * (high / low) ** (Math.log(at / a) / Math.log(b / a));
}
