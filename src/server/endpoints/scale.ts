import { Scale } from "#api/autoscaling/scale.ts";
import { formatLabelSelector, type LabelSelector } from "#api/meta/label-selector.ts";
import { type ApiObject, type Resource, type ScalePaths } from "#api/resource.ts";
import { badRequest, staleObject } from "#api/status.ts";
import { cloneJson } from "#lib/json.ts";
import { type Objects } from "../objects/objects.ts";
import { type Answer, type Context } from "../pipeline.ts";
import { decodeRaw, type Expected, readAs } from "./body.ts";
import { writeOptions } from "./options.ts";
import { mergeInto, patchBody, patchTypeOf } from "./patch.ts";
import { updateObject, type Write, type WriteDeps } from "./write.ts";

interface ScaleObject extends ApiObject {
  spec?: { replicas?: number };
  status?: { replicas: number; selector?: string };
}

const expected: Expected = { group: "autoscaling", version: "v1", kind: "Scale", schema: Scale.schema };

export async function readScale(deps: { objects: Objects }, context: Context, resource: Resource): Promise<Answer> {
  const { namespace, name } = context.info;
  const { object } = await deps.objects.get(resource, namespace, name);
  return { type: "value", status: 200, value: scaleOf(resource, object), schema: Scale.schema };
}

/** PUT and PATCH of the number of replicas; the object itself is what is written. */
export async function writeScale(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const { namespace, name, verb } = context.info;
  const options = writeOptions(context, verb === "patch" ? "PatchOptions" : "UpdateOptions");
  const write: Write = { context, resource, subresource: "scale", namespace, name, options };
  const wanted = verb === "patch" ? await patchedScale(context, resource) : await sentScale(context);
  const { encoded } = await updateObject(deps, write, (current) => {
    const scale = wanted(current);
    const { resourceVersion } = scale.metadata;
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) throw staleObject(resource, name);
    const changed = cloneJson(current);
    setPath(changed, pathsOf(resource).specReplicas, scale.spec?.replicas ?? 0);
    return changed;
  });
  return { type: "value", status: 200, value: scaleOf(resource, encoded.object), schema: Scale.schema };
}

async function sentScale(context: Context): Promise<(current: ApiObject) => ScaleObject> {
  const scale = (await readAs(context, expected, { fieldValidation: "Warn", defaults: true })) as ScaleObject;
  if (scale.metadata.name !== context.info.name) {
    throw badRequest(
      `the name of the object (${scale.metadata.name ?? ""}) does not match the name on the URL (${context.info.name})`,
    );
  }
  return () => scale;
}

async function patchedScale(context: Context, resource: Resource): Promise<(current: ApiObject) => ScaleObject> {
  const type = patchTypeOf(context);
  const patch = await patchBody(context, type);
  // An applied Scale is merged like any other patch: the number has one owner at a time.
  const mergeType = type === "application/apply-patch+yaml" ? "application/merge-patch+json" : type;
  return (current) => {
    const value = mergeInto(Scale, { type: mergeType, patch, current: scaleOf(resource, current) });
    return decodeRaw(
      context,
      expected,
      { value, text: undefined },
      { fieldValidation: "Warn", defaults: true },
    ) as ScaleObject;
  };
}

function scaleOf(resource: Resource, object: ApiObject): ScaleObject {
  const paths = pathsOf(resource);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.labelSelector ? getPath(object, paths.labelSelector) : undefined;
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp } as ApiObject["metadata"];
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata,
    spec: { replicas: Number(getPath(object, paths.specReplicas) ?? 0) },
    status: {
      replicas: Number(getPath(object, paths.statusReplicas) ?? 0),
      ...(selector === undefined ? {} : { selector: selectorText(selector) }),
    },
  };
}

const selectorText = (selector: unknown): string =>
  typeof selector === "string" ? selector : formatLabelSelector(selector as LabelSelector);

function pathsOf(resource: Resource): ScalePaths {
  const paths = resource.subresources.find(({ scale }) => scale)?.scale;
  if (!paths) throw new Error(`${resource.plural} declares no scale paths`);
  return paths;
}

/** `.spec.replicas` and the like, as custom resource definitions write them. */
const steps = (path: string): string[] => path.split(".").filter(Boolean);

function getPath(object: unknown, path: string): unknown {
  let at: unknown = object;
  for (const step of steps(path))
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  return at;
}

function setPath(object: unknown, path: string, value: unknown): void {
  const names = steps(path);
  const last = names.pop() ?? "";
  let at = object as Record<string, unknown>;
  for (const name of names) {
    at[name] ??= {};
    at = at[name] as Record<string, unknown>;
  }
  at[last] = value;
}
