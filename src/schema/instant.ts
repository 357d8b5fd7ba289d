/** Seconds since the epoch of a normalised time (`2006-01-02T15:04:05Z`). */
export const secondsOf = (text: string): number => Math.floor(Date.parse(text) / 1000);

/** Microseconds within the second of a normalised micro time (`2006-01-02T15:04:05.000000Z`). */
export const microsOf = (text: string): number => (text.length > 20 ? Number(text.slice(20, 26)) : 0);

/** The range of years with four digits. */
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;

export const isInstant = (seconds: number): boolean => seconds >= minSeconds && seconds <= maxSeconds;
export const timeText = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
export const microTimeText = (seconds: number, nanos: number): string =>
  `${timeText(seconds).slice(0, 19)}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
