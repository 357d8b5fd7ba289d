import { appendFileSync, readFileSync } from "node:fs";
import { systemClock } from "#lib/async/clock.ts";

/** One line of the file through which the cluster's process reports its start to the command that started it. */
export interface Progress {
  readonly step: string;
  /** Milliseconds since the start. */
  readonly ms: number;
  readonly state: "doing" | "ready" | "failed";
}

export const progressFile = (dataDir: string): string => `${dataDir}/progress.jsonl`;

export function progressWriter(dataDir: string, startedMs: number): (step: string, state?: Progress["state"]) => void {
  return (step, state = "doing") => {
    const progress: Progress = { step, ms: Math.round(systemClock.now() - startedMs), state };
    appendFileSync(progressFile(dataDir), `${JSON.stringify(progress)}\n`);
  };
}

/** Every step reported so far. A line that is still being written is left for the next call. */
export function readProgress(dataDir: string): Progress[] {
  let text: string;
  try {
    text = readFileSync(progressFile(dataDir), "utf8");
  } catch {
    return [];
  }
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.filter(Boolean).map((line) => JSON.parse(line) as Progress);
}
