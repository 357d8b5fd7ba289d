import { type APIService } from "#api/apiregistration/api-service.ts";
import { type InputOf } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { type ApiPriority, builtInPriority, customPriority } from "#server/discovery/api-order.ts";

/** Who looks after an APIService: `onstart` at the start of a server, `true` always; otherwise nobody does. */
export const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

export type Registered = Pick<InputOf<APIService>, "spec"> & {
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
};

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/**
 * The APIService of a group and version that this server serves itself. One that is built in but unknown to upstream has
 * none, so that somebody can register another server for it.
 */
export function localService(
  { group, version }: GroupVersion,
  { isBuiltIn }: { readonly isBuiltIn: boolean },
): Registered | undefined {
  const priority: ApiPriority | undefined = isBuiltIn ? builtInPriority(group, version) : customPriority;
  if (!priority) return undefined;
  return {
    metadata: { name: `${version}.${group}`, labels: { [managedLabel]: isBuiltIn ? "onstart" : "true" } },
    spec: {
      ...(group ? { group } : {}),
      version,
      groupPriorityMinimum: priority.group,
      versionPriority: priority.version,
    },
  };
}

export interface Registration {
  /** What should be there; undefined if the server does not serve the group and version itself. */
  readonly wanted: Registered | undefined;
  readonly current: APIService | undefined;
  /** Whether `current` was there when the server started. */
  readonly wasThere: boolean;
  /** Whether this was settled before, since the server started. */
  readonly wasSettled: boolean;
}

export type Step = "create" | "update" | "delete" | "leave";

/**
 * What is to be done about an APIService. Those of built-in groups are put right once, when the server starts; those of
 * custom resources always. One that somebody has taken the label off is theirs.
 */
export function planRegistration({ wanted, current, wasThere, wasSettled }: Registration): Step {
  const managed = wanted?.metadata.labels[managedLabel];
  if (managed === "onstart" && wasSettled) return "leave";
  if (!current) return wanted ? "create" : "leave";
  const kept = current.metadata.labels?.[managedLabel];
  if (kept !== "onstart" && kept !== "true") return "leave";
  if (kept === "onstart" && (!wasThere || wasSettled)) return "leave";
  if (!wanted) return "delete";
  return equal(current.spec, wanted.spec) ? "leave" : "update";
}
