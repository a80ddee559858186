// What the server says about questions and answers, as JSON. Written by tools/kinds.py from result.py.
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
  shape: "number" | "bars" | "curve" | "table" | "points" | "tree";
  series: Series[];
  x_label: string;
  confidence: number;
  notes: string[];
  rows_used: string;
  drawn: Series[];
  mechanism: string;
}

export interface Band {
  output: string;
  errors: (number | null)[];
  measured_in: string;
  why: string;
  condition: string;
  caveat: string;
}

export interface Preview {
  bands: Band[];
  confidence: number;
  delta: number;
  notes: string[];
  mechanism: string;
  rows_used: string;
}

export interface Budget {
  allowance: number;
  spent: number;
  left: number;
  delta?: number;
  delta_left?: number;
}

export interface QuestionHandles {
  title: string;
  asked: [string, string][];
  places: number[];
  preview: Preview;
  budget: Budget;
  unit: string;
  people: number;
  based_on: string[];
}
