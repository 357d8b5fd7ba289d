import { allResources } from "#api/all.ts";
import { apiVersionOf } from "#api/resource.ts";
import { documentsIn } from "../yaml-documents.ts";
import { readStage } from "./read-stage.ts";
import type { Stage } from "./stage.ts";

/** A Stage as people write it: an object, or YAML with any number of them. */
export type StageInput = string | Readonly<Record<string, unknown>>;

/** Reads all stages. Throws an error that names the place of the first fault. */
export async function readStages(inputs: StageInput | readonly StageInput[]): Promise<readonly Stage[]> {
  const all = Array.isArray(inputs) ? (inputs as readonly StageInput[]) : [inputs as StageInput];
  const documents = await Promise.all(
    all.map(async (input, index) => {
      if (typeof input === "string") return await documentsIn(input);
      return [{ value: input as unknown, where: `stages[${index}]` }];
    }),
  );
  const stages = documents.flat().map(({ value, where }) => readStage(value, where));
  checkNames(stages);
  for (const stage of stages) checkKind(stage);
  return stages;
}

function checkNames(stages: readonly Stage[]): void {
  const names = stages.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`there are two stages with the name ${JSON.stringify(twice)}`);
}

/** A kind of a group that users cannot extend must exist. Others may be defined later. */
function checkKind({ name, apiVersion, kind }: Stage): void {
  const group = allResources.filter((one) => apiVersionOf(one) === apiVersion);
  if (group.length === 0 && apiVersion !== "" && apiVersion.includes("/")) return;
  if (group.some((one) => one.kind === kind)) return;
  throw new Error(
    `Stage ${JSON.stringify(name)}: spec.resourceRef: there is no kind ${kind} in ${JSON.stringify(apiVersion)}`,
  );
}

export const drives = (stages: readonly Stage[], kind: "Pod" | "Node"): boolean =>
  stages.some((stage) => stage.apiVersion === "v1" && stage.kind === kind);
