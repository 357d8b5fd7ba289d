import { allResources } from "#api/all.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";
import { type Sample, type Tree } from "./samples/sample.ts";

/** A kind, where its objects are, and one of them. */
export interface Target {
  readonly resource: Resource;
  /** `/api/v1/namespaces/differ/pods` */
  readonly collection: string;
  /** Where the object is after its creation. */
  readonly path: string;
  readonly object: Tree & { readonly metadata: Tree };
  readonly isStored: boolean;
  readonly has: (subresource: string) => boolean;
}

export function targetOf(sample: Sample, { namespace, label }: { namespace: string; label: string }): Target {
  const resource = resourceOf(sample);
  // Event is stored once for two groups, so the group is in the name.
  const own = [label, resource.kind.toLowerCase(), resource.group.split(".")[0], resource.version];
  const name = sample.name ?? own.filter(Boolean).join("-");
  const prefix = resource.group ? `/apis/${apiVersionOf(resource)}` : `/api/${resource.version}`;
  const isNamespaced = resource.scope === "Namespaced";
  const collection = `${prefix}${isNamespaced ? `/namespaces/${namespace}` : ""}/${resource.plural}`;
  const body = JSON.parse(JSON.stringify(sample.body).replaceAll("@namespace@", namespace)) as Tree;
  const labels = { differ: label, ...((body.metadata as { labels?: Tree } | undefined)?.labels ?? {}) };
  const isStored = resource.verbs.includes("get");
  // Reviews have no metadata of their own.
  const metadata = { ...(isStored ? { name, labels } : {}), ...(isNamespaced ? { namespace } : {}) };
  return {
    resource,
    collection,
    path: `${collection}/${name}`,
    object: { apiVersion: apiVersionOf(resource), kind: resource.kind, ...body, metadata },
    isStored,
    has: (subresource) => resource.subresources.some((one) => one.name === subresource),
  };
}

function resourceOf({ kind, apiVersion }: Sample): Resource {
  const found = allResources.find((one) => one.kind === kind && (!apiVersion || apiVersionOf(one) === apiVersion));
  if (!found) throw new Error(`there is no kind ${kind} in ${apiVersion ?? "any group"}`);
  return found;
}

/** The object under another name. */
export const named = ({ object }: Target, name: string): Tree => ({
  ...object,
  metadata: { ...object.metadata, name },
});
