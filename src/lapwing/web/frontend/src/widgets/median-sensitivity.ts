// How far one person can move a median: anywhere, here, and near here.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { ages, decay, smooth, spans, type Shape } from "../math/sensitivity.js";

const RANGE = 100;
const DELTA = 1e-6;
const SIZES = [51, 201, 1001];
const SHAPES: [Shape, string][] = [
  ["alike", "all about 40 years old"],
  ["even", "spread from 0 to 100"],
  ["camps", "two camps, around 22 and 72"],
];

export class MedianStory extends Story {
  static override properties = { epsilon: { type: Number }, shape: { type: String }, people: { type: Number } };
  declare epsilon: number;
  declare shape: Shape;
  declare people: number;
  protected readonly question = "How far can one person move the median age?";
  protected readonly first = { epsilon: 1, shape: "camps", people: 201 };

  protected override get allowed(): Record<string, Allowed> {
    return { shape: SHAPES.map(([shape]) => shape), people: SIZES };
  }

  private get values(): number[] {
    return ages(this.shape, this.people);
  }

  protected handles(): TemplateResult {
    return html`${this.choice("shape", "the people are", SHAPES)}
      ${this.choice(
        "people",
        "how many",
        SIZES.map((size) => [size, size.toLocaleString("en")]),
      )}
      ${this.epsilonHandle("epsilon", { about: "of your age", except: "leaving δ = 10⁻⁶ aside" })}`;
  }

  protected picture(): unknown {
    const all = spans(this.values, 0, RANGE);
    const factor = decay(this.epsilon, DELTA);
    const local = all.map((span, k): Point => [k, span]);
    const counted = all.map((span, k): Point => [k, span * factor ** k]);
    const most = smooth(this.values, 0, RANGE, this.epsilon, DELTA);
    return chart({
      title: "How far one more change can move the median after k other changes, plain and discounted",
      x: { from: 0, to: this.people, label: "people who were changed before" },
      y: { from: 0, to: 1.12 * RANGE, label: "years", ticks: [0, 25, 50, 75, 100] },
      marks: [
        { kind: "across", ink: "quiet", points: [[0, RANGE]], label: "anywhere: 100", dashed: true },
        { kind: "line", ink: "adversary", points: local },
        { kind: "line", ink: "noise", points: counted },
        {
          kind: "across",
          ink: "private",
          points: [[this.people, most]],
          label: `smooth: ${short(most)}`,
          dashed: true,
        },
        { kind: "dots", ink: "private", points: counted.filter(([, span]) => span >= most - 1e-9).slice(0, 1) },
        {
          kind: "dots",
          ink: "adversary",
          points: local.slice(0, 1),
          label: local[0]![1] > 0.8 * most ? "" : `here: ${short(local[0]![1])}`,
        },
      ],
    });
  }

  protected sentence(): string {
    const all = spans(this.values, 0, RANGE);
    const most = smooth(this.values, 0, RANGE, this.epsilon, DELTA);
    const scale = (2 * most) / this.epsilon;
    const global = RANGE / this.epsilon;
    const verdict =
      scale < global / 1.05
        ? `For the worst case, the scale would be ${short(global)}, which is ${short(global / scale)} times as much.`
        : `For the worst case, the scale would be ${short(global)}, which is not more. So smooth sensitivity gains nothing here.`;
    return `In these data one person moves the median by at most ${short(all[0]!)} (red, on the left). After k other changes it can be more, up to ${short(Math.max(...all))} at the right end. Discount every change by the factor ${decay(this.epsilon, DELTA).toFixed(3)} (orange; for δ = 10⁻⁶) and take the highest point: the smooth sensitivity is ${short(most)}, so the scale of the noise is ${short(scale)}. ${verdict}`;
  }

  protected table(): Table {
    const all = spans(this.values, 0, RANGE);
    const factor = decay(this.epsilon, DELTA);
    const rows = [0, 1, 2, 5, 10, 20, 50]
      .filter((k) => k < all.length)
      .map((k) => [k, short(all[k]!), short(all[k]! * factor ** k)]);
    return { head: ["people changed before", "one more moves the median by", "discounted"], rows };
  }

  static override styles = [Story.styles, css`.handles > lw-epsilon { flex-basis: 100%; }`];
}
customElements.define("lw-median-sensitivity", MedianStory);
