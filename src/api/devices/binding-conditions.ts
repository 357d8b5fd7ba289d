import { qualifiedName } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";
import { eachUpTo } from "./bounded-lists.ts";

interface BindingConditions {
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
}

/** Conditions that a pod waits for, and others that end the wait. There must be both or neither. */
export function validateBindingConditions(at: Cursor<BindingConditions>): void {
  const { bindingConditions: good = [], bindingFailureConditions: bad = [] } = at.value;
  eachUpTo(at.field("bindingConditions"), 4, (at) => at.rule(qualifiedName));
  eachUpTo(at.field("bindingFailureConditions"), 4, (at) => at.rule(qualifiedName));
  const waitedFor = new Set<string>();
  at.each("bindingConditions", (at) => at.unique(waitedFor));
  const failures = new Set<string>();
  at.each("bindingFailureConditions", (at) => {
    at.unique(failures);
    if (waitedFor.has(at.value)) at.invalid("bindingFailureConditions must not overlap with bindingConditions");
  });
  if (good.length === 0 && bad.length > 0) {
    at.field("bindingConditions").invalid("bindingConditions are required to use bindingFailureConditions");
  }
  if (bad.length === 0 && good.length > 0) {
    at.field("bindingFailureConditions").invalid("bindingFailureConditions are required to use bindingConditions");
  }
}
