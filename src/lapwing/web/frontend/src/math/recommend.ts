// What to read next, and why: the same as lapwing.web.school.recommend, computed where the one who reads is known.
export interface Offer {
  slug: string;
  title: string;
  category: string;
  level: string;
  minutes: number;
  roles: string[];
  needs: string[];
  helps: string[];
}
interface Rules {
  finished: number;
  role: number;
  only_some_roles: number;
  begun: number;
  start: number;
  newcomers: string[];
  follows: number;
  all_roles: number;
  goal: number;
  reasons: number;
  votes: { everybody: string; lie: number; alpha: number; errors: number; most: number };
  knowledge: Record<string, Record<string, number>>;
  goals: Record<string, { categories: string[]; levels: string[] }>;
  words: {
    roles: Record<string, string>;
    goals: Record<string, string>;
    knowledge: Record<string, string>;
    begun: string;
    needed: string;
    follows: string;
    votes: string;
    role_votes: string;
    start: string;
    first: string;
    next: string;
    again: string;
  };
}
/** What /recommendation tells: nuggets in the order of the course, reports and yes by nugget and role, and the rules. */
export interface Told {
  nuggets: Offer[];
  votes: Record<string, Record<string, [number, number]>>;
  rules: Rules;
}
export interface About {
  roles: string[];
  knowledge: string;
  goals: string[];
}
export interface Advice {
  slug: string;
  points: number;
  reason: string;
}

/** All nuggets: those that are left in the order to read them, then those that are finished. */
export function recommend(told: Told, about: About, done: Record<string, number>): Advice[] {
  const { rules } = told;
  const known = new Map(told.nuggets.map((offer) => [offer.slug, offer]));
  const order = inOrder(told.nuggets);
  const place = new Map(order.map((slug, i) => [slug, i]));
  const at = (slug: string): number => place.get(slug) as number;
  const before = leadingTo(known, order);
  const leads = (one: string, other: string): boolean => (before.get(other) as Set<string>).has(one);
  const finished = new Set(order.filter((slug) => (done[slug] ?? 0) >= rules.finished));
  const wins = clearWins(told, about, leads);
  const followed = (offer: Offer): string => [...offer.needs, ...offer.helps].find((slug) => finished.has(slug)) ?? "";
  // Who has finished nothing starts with the first, whatever the role.
  const newcomer = rules.newcomers.includes(about.knowledge) && !finished.size;
  const starts = (slug: string): boolean => newcomer && at(slug) === 0;
  const own = new Map<string, number>();
  for (const offer of known.values()) {
    let points = wins.get(offer.slug) ?? 0;
    if (about.roles.some((role) => offer.roles.includes(role)))
      points += rules.role + (offer.roles.length < rules.all_roles ? rules.only_some_roles : 0);
    for (const goal of about.goals) points += rules.goal * fits(rules, goal, offer);
    points += rules.knowledge[about.knowledge]?.[offer.level] ?? 0;
    if (starts(offer.slug)) points += rules.start;
    if ((done[offer.slug] ?? 0) > 0) points += rules.begun;
    if (followed(offer)) points += rules.follows;
    own.set(offer.slug, points);
  }
  const worth = (slug: string): number => own.get(slug) as number;
  const best = (slug: string): string =>
    [slug, ...order.filter((other) => leads(slug, other) && !finished.has(other))].reduce((one, other) =>
      worth(other) > worth(one) || (worth(other) === worth(one) && at(other) < at(one)) ? other : one,
    );
  const reason = (offer: Offer): string => {
    const { words } = rules;
    if (finished.has(offer.slug)) return words.again;
    if (starts(offer.slug) && !((done[offer.slug] ?? 0) > 0)) return words.start;
    let parts: string[] = [];
    if ((done[offer.slug] ?? 0) > 0) parts.push(words.begun);
    const opens = best(offer.slug);
    if (opens !== offer.slug) parts.push(words.needed.replace("{}", () => (known.get(opens) as Offer).title));
    if (offer.roles.length < rules.all_roles)
      parts.push(
        ...about.roles
          .filter((role) => offer.roles.includes(role))
          .slice(0, 1)
          .map((role) => words.roles[role] as string),
      );
    parts.push(...about.goals.filter((goal) => fits(rules, goal, offer)).map((goal) => words.goals[goal] as string));
    if ((wins.get(offer.slug) ?? 0) > 0) parts.splice(1, 0, about.roles.length ? words.role_votes : words.votes);
    const after = followed(offer);
    if (after) parts.push(words.follows.replace("{}", () => (known.get(after) as Offer).title));
    if ((rules.knowledge[about.knowledge]?.[offer.level] ?? 0) > 0)
      parts.push(words.knowledge[about.knowledge] as string);
    if (!parts.length) return at(offer.slug) === 0 ? words.first : words.next;
    parts = parts.slice(0, rules.reasons);
    const last = parts.pop() as string;
    return parts.length ? `Because ${parts.join(", ")} and ${last}.` : `Because ${last}.`;
  };
  const value = (slug: string): number => (finished.has(slug) ? 0 : worth(best(slug)));
  return [...order]
    .sort((a, b) => Number(finished.has(a)) - Number(finished.has(b)) || value(b) - value(a) || at(a) - at(b))
    .map((slug) => ({ slug, points: worth(best(slug)), reason: reason(known.get(slug) as Offer) }));
}

function fits(rules: Rules, goal: string, offer: Offer): number {
  const rule = rules.goals[goal];
  return rule ? Number(rule.categories.includes(offer.category)) + Number(rule.levels.includes(offer.level)) : 0;
}

/** The order of the course, except that what is needed comes first. */
function inOrder(offers: Offer[]): string[] {
  const left = new Map(offers.map((offer) => [offer.slug, offer]));
  const placed: string[] = [];
  while (left.size) {
    const [first] = left.values();
    const next = ([...left.values()].find((offer) => !offer.needs.some((need) => left.has(need))) ?? first) as Offer;
    placed.push(next.slug);
    left.delete(next.slug);
  }
  return placed;
}

/** All that leads to a nugget. */
function leadingTo(known: Map<string, Offer>, order: string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const slug of order) {
    const needs = (known.get(slug) as Offer).needs.filter((need) => found.has(need));
    found.set(slug, new Set(needs.flatMap((need) => [need, ...(found.get(need) as Set<string>)])));
  }
  return found;
}

/** How many others a nugget clearly beats, minus how many clearly beat it; not more than a little. */
function clearWins(told: Told, about: About, leads: (one: string, other: string) => boolean): Map<string, number> {
  const { lie, alpha, errors, most, everybody } = told.rules.votes;
  const ends: [string, number, number][] = [];
  for (const { slug } of told.nuggets) {
    const byRole = told.votes[slug] ?? {};
    let [reports, yes] = [0, 0];
    for (const role of about.roles.length ? about.roles : [everybody]) {
      const [more, ones] = byRole[role] ?? [0, 0];
      [reports, yes] = [reports + more, yes + ones];
    }
    if (!reports) continue;
    const share = (yes / reports - lie) / alpha;
    const reach = errors / (2 * alpha * Math.sqrt(reports));
    ends.push([slug, share - reach, share + reach]);
  }
  const wins = new Map<string, number>();
  for (const [slug, low, high] of ends) {
    let count = 0;
    for (const [other, itsLow, itsHigh] of ends)
      if (!leads(slug, other) && !leads(other, slug)) count += Number(low > itsHigh) - Number(itsLow > high);
    wins.set(slug, Math.max(-most, Math.min(most, count)));
  }
  return wins;
}
