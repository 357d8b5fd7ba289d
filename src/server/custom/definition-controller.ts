import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { cleanupFinalizer, isEstablished, withStatusCondition } from "#api/apiextensions/definition-status.ts";
import { type Resource } from "#api/resource.ts";
import { ignoreNotFound, isConflict } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { type CustomKinds } from "./custom-kinds.ts";
import { usedNames } from "./plan-names.ts";
import { planStatus } from "./plan-status.ts";

export interface DefinitionDeps {
  readonly kinds: CustomKinds;
  /** The kinds of the server itself, whose names nobody else gets. */
  readonly builtIn: readonly Resource[];
}

/** While objects of a deleted definition wait for their finalizers. */
const recheckMs = 5_000;

/** Accepts the names of definitions, says which are served, and deletes all objects of those that are deleted. */
export const definitionController =
  ({ kinds, builtIn }: DefinitionDeps) =>
  (deps: ReconcilerDeps): Reconciler<CustomResourceDefinition> => ({
    name: "custom-resource-definition",
    reconciles: CustomResourceDefinition,
    workers: 1,

    async reconcile(definition, signal) {
      if (definition.metadata.deletionTimestamp) return await cleanUp({ ...deps, kinds }, definition, signal);
      const { group } = definition.spec;
      const own = builtIn.filter((resource) => resource.group === group);
      const others = [
        ...kinds.namesIn(group, definition.metadata.name),
        ...own.map((one) => ({ ...one, shortNames: [...one.shortNames], categories: [] })),
      ];
      const status = planStatus(definition, usedNames(others), timestamp(deps.clock.now()));
      await writeStatus(deps, { ...definition, status }, definition, signal);
      return undefined;
    },
  });

type Definition = CustomResourceDefinition;
type CleanDeps = ReconcilerDeps & { readonly kinds: CustomKinds };

/** A definition that somebody else has changed meanwhile is looked at again because of that change. */
async function writeStatus(
  { client }: ReconcilerDeps,
  changed: Definition,
  old: Definition,
  signal: AbortSignal,
): Promise<Definition | undefined> {
  if (equal(changed.status, old.status) && equal(changed.metadata, old.metadata)) return old;
  return await client.updateStatus(CustomResourceDefinition, changed, { signal }).catch((error: unknown) => {
    if (!isConflict(error)) return ignoreNotFound(error);
    return undefined;
  });
}

/** Deletes all objects of the kind, then lets the definition go. */
async function cleanUp(deps: CleanDeps, definition: Definition, signal: AbortSignal) {
  if (!definition.metadata.finalizers?.includes(cleanupFinalizer)) return undefined;
  const terminating = (status: string, reason: string, message: string) => {
    const condition = { type: "Terminating", status, reason, message };
    return withStatusCondition(definition.status, condition, timestamp(deps.clock.now()));
  };
  const inProgress = terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
  const current = await writeStatus(deps, { ...definition, status: inProgress }, definition, signal);
  if (!current) return undefined;
  let status = terminating("False", "NeverEstablished", "resource was never established");
  if (isEstablished(definition)) {
    try {
      if (!(await deleteInstances(deps, definition, signal))) return againAfter(recheckMs);
    } catch (error) {
      const failed = terminating(
        "True",
        "InstanceDeletionFailed",
        `could not delete all instances: ${messageOf(error)}`,
      );
      await writeStatus(deps, { ...current, status: failed }, current, signal);
      throw error;
    }
    status = terminating("False", "InstanceDeletionCompleted", "removed all instances");
  }
  const finalizers = (current.metadata.finalizers ?? []).filter((name) => name !== cleanupFinalizer);
  await writeStatus(deps, { ...current, status, metadata: { ...current.metadata, finalizers } }, current, signal);
  return undefined;
}

/** Whether none is left. */
async function deleteInstances(
  { client, kinds }: CleanDeps,
  { metadata }: Definition,
  signal: AbortSignal,
): Promise<boolean> {
  const resource = kinds.storageOf(metadata.name);
  if (!resource) return true;
  const { items } = await client.list(resource, { signal });
  const namespaces = new Set(items.map((item) => item.metadata.namespace ?? ""));
  for (const namespace of namespaces) {
    await client.deleteCollection(resource, { ...(namespace ? { namespace } : {}), signal });
  }
  return items.length === 0 || (await client.list(resource, { limit: 1, signal })).items.length === 0;
}
