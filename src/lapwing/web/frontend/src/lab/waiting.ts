// Work that takes a while: begun by a form, asked about until it is over, and stopped if somebody wishes so.
import { html, type TemplateResult } from "lit";
import { me } from "../lib/account.js";
import { queued } from "../lib/queue.js";

export interface Job {
  id: string;
  state: "waiting" | "working" | "done" | "failed" | "cancelled";
  share: number;
  title: string;
  error: string;
  where: string;
  place: number;
}

async function asked(address: string, options: RequestInit = {}): Promise<Response> {
  const person = await me();
  const headers: Record<string, string> = { accept: "application/json" };
  if (person) headers["x-csrf-token"] = person.csrf;
  return fetch(address, { ...options, headers });
}

/** What a refusal says. */
async function refusal(answer: Response): Promise<string> {
  const told = (await answer.json().catch(() => ({}))) as { detail?: string };
  return told.detail ?? "The lab does not answer. Try again in a moment.";
}

export async function get<T>(address: string): Promise<T> {
  const answer = await asked(address);
  if (!answer.ok) throw new Error(await refusal(answer));
  return (await answer.json()) as T;
}

const pause = (ms: number): Promise<void> => new Promise((go) => setTimeout(go, ms));

/** Begins work and follows it to its end; what it says meanwhile is shown. */
export async function follow(
  bench: string,
  address: string,
  body: URLSearchParams,
  show: (job: Job) => void,
): Promise<Job> {
  const begun = await asked(address, { method: "POST", body });
  if (!begun.ok) throw new Error(await refusal(begun));
  let job = (await begun.json()) as Job;
  for (let wait = 60; job.state === "waiting" || job.state === "working"; wait = Math.min(800, wait * 1.4)) {
    show(job);
    await pause(wait);
    job = await get<Job>(`${bench}/jobs/${job.id}`);
  }
  show(job);
  if (job.state !== "done") throw new Error(job.error);
  return job;
}

export async function stop(bench: string, job: string): Promise<void> {
  await asked(`${bench}/jobs/${job}/cancel`, { method: "POST", body: new URLSearchParams() });
}

/** The address of the table that a page is about. */
export const benchOf = (): string => location.pathname.split("/").slice(0, 3).join("/");

export function underWay(job: Job, bench: string): TemplateResult {
  return html`<div class="under-way">
    <progress max="1" .value=${job.share} aria-label=${job.title}></progress>
    <span role="status">${job.state === "waiting" ? queued(job.place) : ""}</span>
    <button type="button" class="button" @click=${() => void stop(bench, job.id)}>Stop</button>
  </div>`;
}
