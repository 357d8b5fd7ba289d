import { type Toleration } from "#api/core/affinity.ts";

interface TaintLike {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** Whether one of the tolerations puts up with the taint. */
export const tolerates = (tolerations: readonly Toleration[] | undefined, taint: TaintLike): boolean =>
  tolerations?.some((toleration) => matches(toleration, taint)) ?? false;

function matches({ key, operator, value, effect }: Toleration, taint: TaintLike): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  const given = taint.value ?? "";
  switch (operator || "Equal") {
    case "Exists":
      return true;
    case "Equal":
      return (value ?? "") === given;
    case "Gt":
      return isInteger(value) && isInteger(given) && Number(given) > Number(value);
    case "Lt":
      return isInteger(value) && isInteger(given) && Number(given) < Number(value);
    default:
      return false;
  }
}

const isInteger = (text: string | undefined): boolean => text !== undefined && /^[-+]?\d+$/.test(text);
