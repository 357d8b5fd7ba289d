import type { UserInfo } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import type { Client, Patch } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Kinds } from "#runtime/kinds.ts";
import { serviceAccountGroups, splitServiceAccountName } from "#server/authenticate/service-account-claims.ts";
import type { Effect } from "./plan-steps.ts";
import { StageFault } from "./stage.ts";

export interface PerformDeps {
  readonly client: Client;
  readonly events: EventRecorder;
  /** All kinds that are served. */
  readonly kinds: Kinds;
  /** A client of another user, for steps that name one. */
  clientFor(user: UserInfo): Client;
}

const fieldManager = "stages";

/** Carries out an effect. Returns the object if it has changed. */
export async function perform(
  deps: PerformDeps,
  { resource, object, effect }: { readonly resource: Resource; readonly object: ApiObject; readonly effect: Effect },
  signal: AbortSignal,
): Promise<ApiObject | undefined> {
  const ref = { namespace: object.metadata.namespace ?? "", name: object.metadata.name ?? "" };
  switch (effect.type) {
    case "event": {
      const about = { ...object, kind: resource.kind, apiVersion: apiVersionOf(resource) };
      deps.events.event(about, effect.event.type, effect.event.reason, effect.event.message);
      return undefined;
    }
    case "delete": {
      const preconditions = object.metadata.uid === undefined ? {} : { preconditions: { uid: object.metadata.uid } };
      await deps.client
        .delete(resource, ref, { gracePeriodSeconds: 0, ...preconditions, signal })
        .catch(ignoreNotFound);
      return undefined;
    }
    case "patch": {
      const client = effect.as === undefined ? deps.client : deps.clientFor(userOf(effect.as));
      return await client.patch(resource, ref, effect.patch, { ...subresourceOf(effect), fieldManager, signal });
    }
    case "apply":
      await applyObject(deps, effect, { namespace: ref.namespace, signal });
      return undefined;
  }
}

const subresourceOf = ({ subresource }: { readonly subresource: string | undefined }) =>
  subresource === undefined ? {} : { subresource };

/** Creates what a template describes, or patches what is there under its name. */
async function applyObject(
  deps: PerformDeps,
  effect: Effect & { type: "apply" },
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
): Promise<void> {
  const { resource, object } = locate(deps.kinds, effect.object, namespace);
  const client = effect.as === undefined ? deps.client : deps.clientFor(userOf(effect.as));
  const options = { ...subresourceOf(effect), fieldManager, signal };
  if (effect.subresource === undefined) {
    try {
      await client.create(resource, object as never, { fieldManager, signal });
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  if (effect.how === "apply") await client.apply(resource, object as never, { ...options, force: true });
  else await client.patch(resource, object, { type: effect.how, body: object } satisfies Patch, options);
}

type Located = ApiObject & { readonly metadata: { readonly name: string; readonly namespace?: string } };

/** The kind of an object, and the object with a namespace if it needs one: by default that of the object of the stage. */
function locate(kinds: Kinds, object: Readonly<Record<string, unknown>>, namespace: string) {
  const { apiVersion, kind, metadata } = object as Partial<ApiObject>;
  const resource = findKind(kinds, { apiVersion: apiVersion ?? "", kind: kind ?? "" });
  if (!resource) throw new StageFault(`the template gives a ${kind} of ${apiVersion}, which is not served`);
  if (typeof metadata?.name !== "string") throw new StageFault("the template gives an object without metadata.name");
  const placed = resource.scope === "Namespaced" ? { namespace, ...metadata } : metadata;
  return { resource, object: { ...object, metadata: placed } as unknown as Located };
}

export const findKind = (
  kinds: Kinds,
  { apiVersion, kind }: { apiVersion: string; kind: string },
): Resource | undefined => kinds.all().find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);

function userOf(name: string): UserInfo {
  const account = splitServiceAccountName(name);
  return { name, groups: [...(account ? serviceAccountGroups(account.namespace) : []), "system:authenticated"] };
}
