import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { ignoreNotFound, isAlreadyExists, isConflict } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { equal } from "#lib/data/equal.ts";
import { autoUpdateAnnotation, mandatoryLevels, mandatorySchemas, suggestedFlows } from "./bootstrap-flows.ts";

const fieldManager = "api-priority-and-fairness-config-producer-v1";

/** Creates and repairs the FlowSchemas and priority levels that every cluster has, and removes those that it had. */
export async function ensureFlows(client: Client): Promise<void> {
  const { levels, schemas } = suggestedFlows();
  const suggestedLevels: Wanted<PriorityLevelConfiguration> = { objects: levels, isMandatory: false };
  const fixedLevels: Wanted<PriorityLevelConfiguration> = { objects: mandatoryLevels, isMandatory: true };
  // Levels first: a FlowSchema without its level is ignored.
  await ensureAll(client, PriorityLevelConfiguration, [suggestedLevels, fixedLevels]);
  await ensureAll(client, FlowSchema, [
    { objects: schemas, isMandatory: false },
    { objects: mandatorySchemas, isMandatory: true },
  ]);
}

interface Wanted<T extends ApiObject> {
  readonly objects: readonly InputOf<T>[];
  /** Repaired whatever its annotation says. */
  readonly isMandatory: boolean;
}

/** What both kinds have in common. */
type FlowObject = ApiObject & { spec: object };

async function ensureAll<T extends FlowObject>(
  client: Client,
  resource: Resource<T>,
  sets: readonly Wanted<T>[],
): Promise<void> {
  const { items } = await client.list(resource);
  const known = new Map(items.map((item) => [item.metadata.name ?? "", item]));
  for (const { objects, isMandatory } of sets) {
    for (const wanted of objects) {
      const name = nameOf(wanted);
      const current = known.get(name);
      known.delete(name);
      await ensureOne(client, resource, { wanted, current, isMandatory });
    }
  }
  for (const [name, { metadata }] of known) {
    if (autoUpdateOf(metadata.annotations?.[autoUpdateAnnotation]) !== true) continue;
    await client.delete(resource, { name }).catch(ignoreNotFound);
  }
}

async function ensureOne<T extends FlowObject>(
  client: Client,
  resource: Resource<T>,
  { wanted, current, isMandatory }: { wanted: InputOf<T>; current: T | undefined; isMandatory: boolean },
): Promise<void> {
  try {
    if (!current) {
      await client.create(resource, wanted, { fieldManager });
      return;
    }
    const spec = (wanted as unknown as FlowObject).spec;
    const revised = planFlowRepair(current, { spec, isMandatory });
    if (revised) await client.update(resource, revised, { fieldManager });
  } catch (error) {
    // Another server or an administrator was faster; the next round looks at the result.
    if (!isAlreadyExists(error) && !isConflict(error)) throw error;
  }
}

const nameOf = <T extends ApiObject>(object: InputOf<T>): string => (object as ApiObject).metadata.name ?? "";

/** The object as it should be; undefined if it is. */
export function planFlowRepair<T extends FlowObject>(
  current: T,
  { spec, isMandatory }: { readonly spec: object; readonly isMandatory: boolean },
): T | undefined {
  const { annotations = {}, generation } = current.metadata;
  const asked = autoUpdateOf(annotations[autoUpdateAnnotation]);
  // Without a readable annotation, an object that nobody has changed is ours.
  const updates = isMandatory || (asked ?? generation === 1);
  const isRight = !updates || isSame(current.spec, spec);
  if (isRight && asked === updates) return undefined;
  const marked = { ...annotations, [autoUpdateAnnotation]: String(updates) };
  return { ...current, metadata: { ...current.metadata, annotations: marked }, spec: isRight ? current.spec : spec };
}

/** Administrators may set aside seats for the exempt level. */
function isSame(current: object, wanted: object): boolean {
  if (!("exempt" in wanted)) return equal(current, wanted);
  return "exempt" in current && equal({ ...current, exempt: undefined }, { ...wanted, exempt: undefined });
}

/** As Go reads a boolean; undefined if it is none. */
function autoUpdateOf(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  return ["0", "f", "F", "FALSE", "false", "False"].includes(text) ? false : undefined;
}
