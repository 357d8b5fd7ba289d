import { timestamp } from "#lib/async/clock.ts";

/** Days by which the uses of tokens in Secrets are noted: `2026-07-31`. */
export const dayOf = (ms: number): string => timestamp(ms).slice(0, 10);

export const isDay = (text = ""): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
