// Surveys of growing size, each answered with coins: how the estimated share closes in on the truth.
import { html, type TemplateResult } from "lit";
import { chart, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { words } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { alpha, estimate, keep, within } from "../math/randomized-response.js";

const SURVEYS = 100;
const SIZES = [300, 3000, 30000];
const REACHES = [0.1, 0.25, 0.5, 1]; // how far the picture goes up and down: few steps, so that it seldom jumps

type Survey = [n: number, truth: number, yes: number];

export class RandomizedResponseStory extends Story {
  static override properties = { epsilon: { type: Number }, share: { type: Number }, people: { type: Number } };
  declare epsilon: number;
  declare share: number;
  declare people: number;
  protected readonly question = "How many people must answer before the estimate is accurate?";
  protected readonly first = { epsilon: Math.log(3), share: 0.2, people: 3000 };

  protected override get allowed(): Record<string, Allowed> {
    return { share: { from: 0, to: 1 }, people: SIZES };
  }
  private drawn: Uint32Array | undefined;
  private surveys: Survey[] = [];

  /** Every survey has coins of its own; they stay as they fell while the handles move. */
  private get coins(): Uint32Array {
    const needed = (this.step * SURVEYS * (SURVEYS + 1)) / 2;
    if (this.drawn?.length !== needed) this.drawn = words(needed);
    return this.drawn;
  }

  override willUpdate(): void {
    this.surveys = this.asked();
  }

  private get step(): number {
    return this.people / SURVEYS;
  }

  private again(): void {
    this.drawn = undefined;
    this.requestUpdate();
  }

  /** Size, true share, and how many said yes, for surveys of growing size with the same share of smokers each. */
  private asked(): Survey[] {
    const truthful = keep(this.epsilon) * 4294967296;
    const { coins, step } = this;
    let at = 0;
    return Array.from({ length: SURVEYS }, (_, i) => {
      const n = (i + 1) * step;
      const smokers = Math.round(this.share * n);
      let yes = 0;
      for (let person = 0; person < n; person++) if (coins[at++]! < truthful === person < smokers) yes++;
      return [n, smokers / n, yes];
    });
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle(undefined, { about: "that your true answer is yes" })}
      <div class="more">
        <label>smokers among those asked: ${percent(this.share)}
          <input type="range" min="0" max="100" step="5" .value=${String(100 * this.share)} aria-valuetext=${percent(this.share)}
            @input=${(event: Event) => this.take("share", Number((event.target as HTMLInputElement).value) / 100)} />
        </label>
        ${this.choice(
          "people",
          "people in the largest survey",
          SIZES.map((size) => [size, size.toLocaleString("en")]),
        )}
      </div>
      <button type="button" @click=${this.again}>Toss all coins again</button>`;
  }

  protected picture(): unknown {
    const reach = REACHES.find((one) => within(4 * this.step, this.epsilon) < one) ?? 1;
    const [low, high] = [this.share - reach, this.share + reach];
    const cut = (value: number): number => Math.min(high, Math.max(low, value));
    const sizes = Array.from({ length: 160 }, (_, i) => this.step + (i / 159) ** 2 * (SURVEYS - 1) * this.step);
    const edge = (side: number): Point[] => sizes.map((n) => [n, cut(this.share + side * within(n, this.epsilon))]);
    const band = [...edge(1), ...edge(-1).reverse()];
    const dots = this.surveys.map(([n, , yes]): Point => [n, estimate(yes, n, this.epsilon)[0]]);
    return chart({
      title: `Estimated share of smokers in ${SURVEYS} surveys of growing size, and the band in which 95 % of them should lie`,
      x: { from: 0, to: SURVEYS * this.step, label: "people asked" },
      y: { from: low, to: high, label: "estimated share", format: (value) => percent(value).replace("-", "−") },
      marks: [
        { kind: "area", ink: "noise", points: band, base: band[band.length - 1]![1] },
        { kind: "across", ink: "exact", points: [[0, this.share]], dashed: true },
        { kind: "dots", ink: "private", points: dots.filter(([, share]) => share >= low && share <= high) },
      ],
    });
  }

  protected sentence(): string {
    const surveys = this.surveys;
    const [n, truth, yes] = surveys[SURVEYS - 1]!;
    const [share, low, high] = estimate(yes, n, this.epsilon);
    const inside = surveys.filter(
      ([size, real, said]) => Math.abs(estimate(said, size, this.epsilon)[0] - real) <= within(size, this.epsilon),
    ).length;
    const found =
      high - low > 1
        ? `but this says almost nothing: the 95\u00a0% interval is ${said(low)} to ${said(high)}`
        : `so about ${said(share)} smoke (95\u00a0% interval ${said(low)} to ${said(high)})`;
    return `Everybody tells the truth with probability ${often(keep(this.epsilon))} and lies otherwise. (Or: tells the truth with probability ${often(alpha(this.epsilon))} and tosses a fair coin otherwise.) Of ${n.toLocaleString("en")} people, ${percent(yes / n, 1)} say yes, ${found}. The true share is ${percent(truth)}. ${inside} of ${SURVEYS} surveys lie in the band. With four times as many people, the band is half as wide.`;
  }

  protected table(): Table {
    const rows = this.surveys.filter((_, i) => [0, 3, 8, 15, 24, 35, 48, 63, 80, 99].includes(i));
    return {
      head: ["people asked", "said yes", "estimated share", "off by at most, with 95 % confidence"],
      rows: rows.map(([n, , yes]) => [
        n.toLocaleString("en"),
        yes.toLocaleString("en"),
        said(estimate(yes, n, this.epsilon)[0]),
        said(within(n, this.epsilon)),
      ]),
    };
  }
}

function often(probability: number): string {
  return percent(probability, probability > 0.999 ? 3 : 1);
}

function said(share: number): string {
  return percent(Math.abs(share) < 0.0005 ? 0 : share, 1).replace("-", "−");
}
customElements.define("lw-randomized-response", RandomizedResponseStory);
