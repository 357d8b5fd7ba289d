import { compile, type Program } from "#cel/compile.ts";
import { renderType } from "#cel/types/type.ts";
import { deviceEnvironment, deviceSizes } from "./device-environment.ts";

/** A selector that is ready to run, or what is wrong with it. */
export type CompiledSelector =
  | { readonly program: Program; readonly fault?: undefined }
  | { readonly program?: undefined; readonly fault: SelectorFault };
export interface SelectorFault {
  /** `forbidden`: it is correct, but could take too long. */
  readonly kind: "invalid" | "forbidden";
  readonly message: string;
}

/** What one evaluation may cost. */
export const selectorCostLimit = 1_000_000;

export function compileSelector(source: string): CompiledSelector {
  const { program, ...failed } = compile(deviceEnvironment(), source);
  if (!program) return invalid(`compilation failed: ${"message" in failed ? failed.message : ""}`);
  const { kind } = program.type;
  if (kind !== "bool" && kind !== "dyn") {
    return invalid(`must evaluate to bool or the unknown type, not ${renderType(program.type)}`);
  }
  if (program.estimateCost(deviceSizes).max <= selectorCostLimit) return { program };
  return { fault: { kind: "forbidden", message: "too complex, exceeds cost limit" } };
}

const invalid = (message: string): CompiledSelector => ({ fault: { kind: "invalid", message } });
