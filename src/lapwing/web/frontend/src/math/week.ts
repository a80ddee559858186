// In which week something happens, and whether a browser may still tell it: the bound that the statistics rest on.

/** How many things a browser tells in a week, as in statistics.py. */
export const MOST = 6;
export const most = (): number => MOST;

export interface Counted {
  week: string;
  told: string[];
}

/** The ISO week of a moment, in UTC: 2026-W46. */
export function weekOf(moment: string | Date): string {
  const day = new Date(moment);
  day.setUTCHours(0, 0, 0, 0);
  day.setUTCDate(day.getUTCDate() + 4 - (day.getUTCDay() || 7)); // the Thursday decides
  const week = Math.ceil(((day.getTime() - Date.UTC(day.getUTCFullYear(), 0, 1)) / 86400000 + 1) / 7);
  return `${day.getUTCFullYear()}-W${String(week).padStart(2, "0")}`;
}

/** What a browser remembers once it tells something, or null if it must not: each thing once, and few things in all. */
export function admitted(kept: Partial<Counted>, what: string, week: string): Counted | null {
  const told = kept.week === week && Array.isArray(kept.told) ? kept.told : [];
  return told.includes(what) || told.length >= MOST ? null : { week, told: [...told, what] };
}
