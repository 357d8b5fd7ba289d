import { type Node, type Taint } from "../node.ts";
import { type Toleration } from "./affinity.ts";

/** Whether one of the tolerations matches the taint. */
export const tolerates = (tolerations: readonly Toleration[] | undefined, taint: Taint): boolean =>
  tolerations?.some((toleration) => toleratesTaint(toleration, taint)) ?? false;

/** Whether no taint of the node keeps a pod with these tolerations away. PreferNoSchedule only advises. */
export function toleratesNode(tolerations: readonly Toleration[] | undefined, { spec }: Node): boolean {
  for (const taint of spec?.taints ?? []) {
    if (taint.effect !== "PreferNoSchedule" && !tolerates(tolerations, taint)) return false;
  }
  return true;
}

/** Whether the toleration matches the taint. */
export function toleratesTaint({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
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
