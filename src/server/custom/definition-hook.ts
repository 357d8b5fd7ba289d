import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid } from "#api/status.ts";
import { type WriteHook } from "../write/write.ts";
import { loadCompiler } from "./load-in-turns.ts";

const definitions = CustomResourceDefinition as unknown as Resource;

/** Compiles the patterns and rules of a definition before it is written. The compiler is loaded when it is needed. */
export const checkDefinitions: WriteHook = (write, object, old) =>
  write.resource === definitions && write.subresource === "" ? check(object, old) : undefined;

async function check(object: ApiObject, old: ApiObject | undefined): Promise<undefined> {
  await loadCompiler();
  const { definitionFaults } = await import("./rules/check-definition.ts");
  const faults = await definitionFaults(
    object as CustomResourceDefinition,
    old as CustomResourceDefinition | undefined,
  );
  if (faults.length > 0) throw invalid(CustomResourceDefinition, object.metadata.name ?? "", faults);
  return undefined;
}
