import { formatLabelSelector, type LabelSelector } from "#api/meta/label-selector.ts";
import { isObject } from "#lib/data/json-object.ts";
import { own } from "#lib/data/own.ts";
import { type ApiObject, type Resource, type ScalePaths } from "../resource.ts";
import { type Scale } from "./scale.ts";

/** The Scale of an object. */
export function scaleOf(resource: Resource, object: ApiObject): Scale {
  const paths = scalePathsOf(resource);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorOf(object, paths);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as ApiObject["metadata"],
    spec: { replicas: Number(getPath(object, paths.specReplicas) ?? 0) },
    status: {
      replicas: Number(getPath(object, paths.statusReplicas) ?? 0),
      ...(selector === undefined ? {} : { selector }),
    },
  };
}

/** Where the objects of a kind have the parts of their Scale. */
export function scalePathsOf(resource: Resource): ScalePaths {
  const paths = resource.subresources.find(({ scale }) => scale)?.scale;
  if (!paths) throw new Error(`${resource.plural} declares no scale paths`);
  return paths;
}

/** `.spec.replicas` and the like, in the notation of custom resource definitions. */
export const scaleSteps = (path: string): string[] => path.split(".").filter(Boolean);

/** The selector as text. */
function selectorOf(object: ApiObject, { labelSelector, labels }: ScalePaths): string | undefined {
  const selector = getPath(object, labelSelector ?? labels ?? "");
  if (selector === undefined || (!labelSelector && !labels)) return undefined;
  // A custom resource has it as text already.
  if (typeof selector === "string") return selector;
  return formatLabelSelector((labels ? { matchLabels: selector } : selector) as LabelSelector);
}

function getPath(object: unknown, path: string): unknown {
  let at: unknown = object;
  for (const step of scaleSteps(path)) at = isObject(at) ? own(at, step) : undefined;
  return at;
}
