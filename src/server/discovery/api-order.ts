import { APIService } from "#api/apiregistration/api-service.ts";
import { compareVersions } from "#api/compare-versions.ts";
import { type Informer } from "#runtime/informer.ts";

export interface ApiPriority {
  /** The group with the highest one comes first. */
  readonly group: number;
  /** The version with the highest one is the preferred one of its group. */
  readonly version: number;
}

/** Upstream's priorities of the built-in groups: those of their versions, from v1alpha1 up, are in `versions`. */
const groups: Readonly<Record<string, number>> = {
  "": 18000,
  apps: 17800,
  "events.k8s.io": 17750,
  "authentication.k8s.io": 17700,
  "authorization.k8s.io": 17600,
  autoscaling: 17500,
  batch: 17400,
  "certificates.k8s.io": 17300,
  "networking.k8s.io": 17200,
  policy: 17100,
  "rbac.authorization.k8s.io": 17000,
  "storage.k8s.io": 16800,
  "admissionregistration.k8s.io": 16700,
  "apiextensions.k8s.io": 16700,
  "scheduling.k8s.io": 16600,
  "coordination.k8s.io": 16500,
  "node.k8s.io": 16300,
  "discovery.k8s.io": 16200,
  "resource.k8s.io": 16200,
  "flowcontrol.apiserver.k8s.io": 16100,
  "internal.apiserver.k8s.io": 16000,
  "storagemigration.k8s.io": 15800,
};

/** Those that are not 15. */
const versions: Readonly<Record<string, number>> = {
  "/v1": 1,
  "autoscaling/v2": 30,
  "resource.k8s.io/v1": 21,
  "flowcontrol.apiserver.k8s.io/v1": 21,
};

/** The priority of a built-in group and version; undefined for any other. */
export function builtInPriority(group: string, version: string): ApiPriority | undefined {
  const priority = Object.hasOwn(groups, group) ? groups[group] : undefined;
  return priority === undefined ? undefined : { group: priority, version: versions[`${group}/${version}`] ?? 15 };
}

/** Custom resources come after everything that is built in. */
export const customPriority: ApiPriority = { group: 1000, version: 100 };

/** The group by which others are registered is always the first. */
const firstGroup = APIService.group;

/** A group and its versions, in the order in which clients prefer them. */
export interface OrderedGroup {
  readonly name: string;
  readonly versions: readonly string[];
}

/** In which order groups and their versions are shown: as the APIServices say. */
export class ApiOrder {
  readonly #priorities = new Map<string, ApiPriority>();
  #generation = 0;

  constructor(services: Informer<APIService>) {
    services.subscribe(({ type, object: { metadata, spec } }) => {
      const old = this.#priorities.get(metadata.name);
      const now = { group: spec.groupPriorityMinimum, version: spec.versionPriority };
      if (type === "delete") this.#priorities.delete(metadata.name);
      else if (old?.group === now.group && old.version === now.version) return;
      else this.#priorities.set(metadata.name, now);
      this.#generation++;
    });
  }

  /** Changes with the order. */
  get generation(): number {
    return this.#generation;
  }

  sorted(served: Iterable<{ readonly group: string; readonly version: string }>): OrderedGroup[] {
    const found = new Map<string, Map<string, ApiPriority>>();
    for (const { group, version } of served) {
      const ofGroup = found.get(group) ?? new Map<string, ApiPriority>();
      found.set(group, ofGroup);
      if (!ofGroup.has(version)) ofGroup.set(version, this.#of(group, version));
    }
    const ranked = Array.from(found, ([name, ofGroup]) => ({ ...rankOf(name, ofGroup), name, ofGroup }));
    ranked.sort((a, b) => b.priority - a.priority || (a.service < b.service ? -1 : 1));
    return ranked.map(({ name, ofGroup }) => ({ name, versions: sortedVersions(ofGroup) }));
  }

  #of(group: string, version: string): ApiPriority {
    return this.#priorities.get(`${version}.${group}`) ?? builtInPriority(group, version) ?? customPriority;
  }
}

/** Where a group stands: at the place of its first APIService. */
function rankOf(group: string, versions: ReadonlyMap<string, ApiPriority>): { priority: number; service: string } {
  const priority = Math.max(...Array.from(versions.values(), (one) => one.group));
  const names = [...versions].filter(([, one]) => one.group === priority).map(([version]) => `${version}.${group}`);
  return { priority: group === firstGroup ? Number.POSITIVE_INFINITY : priority, service: names.sort()[0] ?? "" };
}

const sortedVersions = (versions: ReadonlyMap<string, ApiPriority>): string[] =>
  [...versions]
    .sort(([a, one], [b, other]) => other.version - one.version || compareVersions(b, a))
    .map(([version]) => version);
