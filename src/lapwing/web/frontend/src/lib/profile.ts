// What somebody told about themselves: kept in this browser, or in the account of whoever is signed in.
import { me } from "./account.js";
import type { About } from "../math/recommend.js";

const KEY = "lapwing-profile";
const NOTHING: About = { roles: [], knowledge: "", goals: [] };

/** What this browser keeps, or null if nobody was asked yet. */
function kept(): About | null {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "null") as Partial<About> | null;
    const words = (list: unknown): string[] =>
      Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
    return found && { roles: words(found.roles), knowledge: String(found.knowledge ?? ""), goals: words(found.goals) };
  } catch {
    return null;
  }
}

const says = (about: About): boolean => about.roles.length + about.goals.length > 0 || about.knowledge !== "";

/** What we know, and whether anybody was asked. */
export async function profile(): Promise<{ about: About; asked: boolean }> {
  const person = await me();
  if (person && says(person.profile)) return { about: person.profile, asked: true };
  const mine = kept();
  return { about: mine ?? NOTHING, asked: mine !== null };
}

/** Keeps it where it belongs. */
export async function tell(about: About): Promise<void> {
  const person = await me();
  if (person) {
    const form = new URLSearchParams({ knowledge: about.knowledge });
    for (const role of about.roles) form.append("roles", role);
    for (const goal of about.goals) form.append("goals", goal);
    await fetch("/account/profile", {
      method: "POST",
      headers: { "x-csrf-token": person.csrf },
      body: form,
      redirect: "manual",
    });
    person.profile = about;
  }
  if (!person || !says(about)) localStorage.setItem(KEY, JSON.stringify(person ? NOTHING : about));
  else localStorage.removeItem(KEY);
}
