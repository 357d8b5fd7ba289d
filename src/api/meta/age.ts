const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** A length of time as `kubectl get` shows ages: at most two units, the smaller one only while it matters. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / second);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(ms / minute);
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(ms / hour);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return two(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.trunc(days / 365);
  return days < 2920 ? two(years, "y", days % 365, "d") : `${years}y`;
}

const two = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;

/** How long ago a timestamp was, or `<unknown>` without one. */
export const age = (timestamp: string | undefined, now: number): string =>
  timestamp ? humanDuration(now - Date.parse(timestamp)) : "<unknown>";
