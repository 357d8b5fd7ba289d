/** Deeper values are refused. */
const maxDepth = 200;

/** Charges for every value within a value, and for the length of its texts, until `spend` throws. */
export function weigh(value: unknown, spend: (units: number) => void, depth = 0): void {
  spend(depth > maxDepth ? Number.POSITIVE_INFINITY : 1);
  if (typeof value === "string") return spend(value.length >> 4);
  if (typeof value !== "object" || value === null) return;
  const inner = Array.isArray(value) ? value : Object.values(value);
  for (const one of inner) weigh(one, spend, depth + 1);
}
