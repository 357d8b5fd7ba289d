import { type FieldPath, invalidValue, unsupportedValue } from "#schema/field-error.ts";
import { labelValue, qualifiedName } from "../meta/names.ts";
import { type Toleration } from "./affinity.ts";
import { type Faults, judgeIfSet } from "./faults.ts";

export function validateTolerations(tolerations: readonly Toleration[], path: FieldPath, faults: Faults): void {
  for (const [index, toleration] of tolerations.entries()) {
    const at = path.index(index);
    const { key, operator = "", effect = "", tolerationSeconds } = toleration;
    judgeIfSet(qualifiedName, key, at, "key", faults);
    if (!key && operator !== "Exists") {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      faults.push(invalidValue(at.child("operator"), operator, detail));
    }
    if (tolerationSeconds !== undefined && effect !== "NoExecute") {
      const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
      faults.push(invalidValue(at.child("effect"), effect, detail));
    }
    validateOperator(operator, toleration.value ?? "", at.child("operator"), faults);
  }
}

function validateOperator(operator: string, value: string, path: FieldPath, faults: Faults): void {
  switch (operator) {
    case "":
    case "Equal": {
      const details = labelValue.all(value);
      if (details.length > 0) faults.push(invalidValue(path, value, details.join(";")));
      break;
    }
    case "Exists":
      if (value) faults.push(invalidValue(path, value, "value must be empty when `operator` is 'Exists'"));
      break;
    case "Lt":
    case "Gt":
      // Numeric comparison is an alpha feature of this release and off.
      faults.push(unsupportedValue(path, operator, ["Equal", "Exists", "Lt", "Gt"]));
      break;
    default:
      faults.push(unsupportedValue(path, operator, ["Equal", "Exists"]));
  }
}
