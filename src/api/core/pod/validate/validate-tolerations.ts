import { type Cursor } from "#api/cursor.ts";
import { labelValue } from "#api/meta/names.ts";
import { type Toleration } from "../affinity.ts";

export function validateToleration(at: Cursor<Toleration>): void {
  const { key, operator = "", effect = "", tolerationSeconds, value = "" } = at.value;
  if (!key && operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    at.field("operator").invalid(detail, operator);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    at.field("effect").invalid("effect must be 'NoExecute' when `tolerationSeconds` is set", effect);
  }
  validateOperator(at.field("operator"), operator, value);
}

function validateOperator(at: Cursor, operator: string, value: string): void {
  if (operator === "" || operator === "Equal") {
    const details = labelValue.all(value);
    if (details.length > 0) at.invalid(details.join(";"), value);
  } else if (operator === "Exists") {
    if (value) at.invalid("value must be empty when `operator` is 'Exists'", value);
  } else if (operator === "Lt" || operator === "Gt") {
    // Numeric comparison is an alpha feature of this release and off.
    at.unsupported(["Equal", "Exists", "Lt", "Gt"]);
  } else at.unsupported(["Equal", "Exists"]);
}
