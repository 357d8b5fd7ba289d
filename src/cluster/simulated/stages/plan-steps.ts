import type { ApiObject } from "#api/resource.ts";
import { isObject } from "#lib/data/json-object.ts";
import type { Value } from "#lib/template/values.ts";
import { yamlToJson } from "#lib/yaml/yaml.ts";
import { type FinalizerChange, type StageEvent, StageFault, type StageStep } from "./stage.ts";
import type { StageScope } from "./stage-functions.ts";

/** What a step does to an object. */
export type Effect =
  | { readonly type: "event"; readonly event: StageEvent }
  | { readonly type: "delete" }
  | {
      readonly type: "patch";
      readonly patch: { readonly type: "json" | "merge" | "strategic"; readonly body: unknown };
      readonly subresource: string | undefined;
      readonly as: string | undefined;
    }
  | {
      readonly type: "apply";
      readonly how: "apply" | "merge" | "strategic";
      readonly object: Readonly<Record<string, unknown>>;
      readonly subresource: string | undefined;
      readonly as: string | undefined;
    };

/** The object that chose the stage, and what the steps before this one have made of it. */
export interface Subject {
  readonly object: ApiObject;
  readonly latest: ApiObject;
}

/** What the step does; undefined if there is nothing to do. Templates see the object as it was before the first step. */
export async function planStep(
  step: StageStep,
  { object, latest }: Subject,
  scope: StageScope,
): Promise<Effect | undefined> {
  switch (step.type) {
    case "event":
    case "delete":
      return step;
    case "finalizers": {
      const body = planFinalizers(latest, step.change);
      return body && { type: "patch", patch: { type: "merge", body }, subresource: undefined, as: undefined };
    }
    case "patch": {
      const { template, type, root, subresource, as } = step.patch;
      const rendered = await dataOf(template.render(object as unknown as Value, scope));
      const body = type === "json" ? below(root, rendered) : root === undefined ? rendered : { [root]: rendered };
      return { type: "patch", patch: { type, body }, subresource, as };
    }
    case "apply": {
      const { template, type: how, subresource, as } = step.apply;
      const rendered = await dataOf(template.render(object as unknown as Value, scope));
      if (!isObject(rendered)) throw new StageFault("the template must give an object");
      return { type: "apply", how, object: rendered, subresource, as };
    }
  }
}

/** The finalizers after the change, as a merge patch that is refused if somebody else has changed the object. */
function planFinalizers({ metadata }: ApiObject, { add, remove, empty }: FinalizerChange): object | undefined {
  const { finalizers: now = [], resourceVersion } = metadata;
  const kept = empty ? [] : now.filter((name) => !remove.includes(name));
  const wanted = [...new Set([...kept, ...add])];
  const isSame = wanted.length === now.length && wanted.every((name, index) => name === now[index]);
  return isSame ? undefined : { metadata: { resourceVersion, finalizers: wanted.length > 0 ? wanted : null } };
}

/** The operations of a JSON patch with paths below a member of the object. */
function below(root: string | undefined, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw new StageFault("the template must give a list of operations");
  if (root === undefined) return operations;
  const prefix = `/${root.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  return operations.map((operation: unknown) => {
    if (!isObject(operation)) throw new StageFault("the template must give a list of operations");
    const { path, ...rest } = operation;
    return { ...rest, path: `${prefix}${typeof path === "string" ? path : ""}` };
  });
}

/** Long texts are read on a thread of their own. */
async function dataOf(yaml: string): Promise<unknown> {
  const { bytes } = await yamlToJson(yaml, "stages");
  return JSON.parse(Buffer.from(bytes).toString()) as unknown;
}
