// What the server says about a question and its answers, as JSON.
import type { Errors } from "../math/lab.js";

export interface Value {
  label: string;
  value: number | null;
  low: number | null;
  high: number | null;
  x: number | null;
}
export interface Series {
  name: string;
  values: Value[];
  measured_in: string;
  note: string;
}
export interface Result {
  shape: "number" | "bars" | "curve" | "table" | "points";
  series: Series[];
  x_label: string;
  confidence: number;
  notes: string[];
}
export interface Band {
  output: string;
  errors: Errors;
  measured_in: string;
  why: string;
}
export interface Preview {
  bands: Band[];
  confidence: number;
  delta: number;
  mechanism: string;
  notes: string[];
}
export interface Budget {
  allowance: number;
  spent: number;
  left: number;
}
export interface Asking {
  title: string;
  asked: [string, string][];
  places: number[];
  preview: Preview;
  budget: Budget;
  unit: string;
  people: number;
}

/** What stands in the page for scripts to read. */
export function told<T>(id: string): T | null {
  const found = document.getElementById(id);
  return found ? (JSON.parse(found.textContent ?? "null") as T) : null;
}
