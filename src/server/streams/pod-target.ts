import { allContainers } from "#api/core/pod/pod-containers.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";
import { type Admission } from "#server/admission/chain.ts";
import { type AdmissionRequest } from "#server/admission/plugin.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type Context } from "#server/request/pipeline.ts";

/** The named container, or the only one. */
export function containerOf(pod: Pod, wanted: string): string {
  const name = pod.metadata.name;
  const names = allContainers(pod.spec).map((container) => container.name);
  if (wanted) {
    if (!names.includes(wanted)) throw badRequest(`container ${wanted} is not valid for pod ${name}`);
    return wanted;
  }
  const [only, ...others] = pod.spec.containers;
  if (only && others.length === 0) return only.name;
  const choice = only ? `, choose one of: [${names.join(" ")}]` : "";
  throw badRequest(`a container name must be specified for pod ${name}${choice}`);
}

export async function podOf(objects: Objects, { info }: Context): Promise<Pod> {
  return (await objects.get(Pod, info.namespace, info.name)).object;
}

export function nodeOf(pod: Pod): string {
  if (!pod.spec.nodeName) throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  return pod.spec.nodeName;
}

/** The options of a connection: `PodExecOptions` and the like. */
export type ConnectOptions = Readonly<Record<string, unknown>> & { readonly kind: string };

/** Runs admission for a connection before it is made. */
export async function admitConnection(
  admission: Admission,
  context: Context,
  { resource, options }: { readonly resource: Resource; readonly options: ConnectOptions },
): Promise<void> {
  const { info, user, request, warnings, annotations } = context;
  const object: ApiObject = { apiVersion: "v1", metadata: {}, ...options };
  const connection: AdmissionRequest = {
    operation: "CONNECT",
    verb: info.verb,
    resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    object,
    oldObject: undefined,
    user,
    dryRun: false,
    options: () => undefined,
    signal: request.signal,
    warn: (text) => void warnings.push(text),
    // A connection takes nothing that would have to be given back.
    ifNotWritten: () => undefined,
    annotate: (key, value) => void annotations.set(key, value),
  };
  await admission.mutate(connection);
  await admission.validate(connection);
}

/** undefined if it is absent. */
export function integerIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : parseInteger(text);
}

export function parseInteger(text: string): number {
  const quoted = `strconv.ParseInt: parsing ${JSON.stringify(text)}`;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`${quoted}: invalid syntax`);
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw badRequest(`${quoted}: value out of range`);
  return value;
}
