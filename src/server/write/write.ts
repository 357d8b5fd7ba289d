import { randomUUID } from "node:crypto";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { createFaults, prepareUpdate, updateFaults, warningsOf } from "#api/rules.ts";
import { alreadyExists, badRequest, invalid, isAlreadyExists, StatusError, staleObject } from "#api/status.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { type Random, randomSuffix } from "#lib/data/random.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import { settledEntries, updateManagedFields } from "#server/apply/fields/managed-fields.ts";
import { checkName, uidConflict } from "#server/endpoints/identity.ts";
import { type Context } from "#server/request/pipeline.ts";
import { type Admission } from "../admission/chain.ts";
import { type AdmissionRequest } from "../admission/plugin.ts";
import { codecOf, EncodedObject } from "../objects/encode-once.ts";
import { type Objects } from "../objects/objects.ts";
import { type WriteOptions } from "./options.ts";

export interface WriteDeps {
  readonly objects: Objects;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  /** What other parts of the server must do with an object before it is written: allocate addresses, check escalation. */
  readonly hooks: readonly WriteHook[];
  /** Throws 403 if the user may not create what the request names: asked where an update or a patch becomes a create. */
  authorizeCreate(context: Context): Promise<void>;
}

/** Runs after validation and before the write. May change the object; what it returns is called once the write has ended. */
export type WriteHook = (
  write: Write,
  object: ApiObject,
  old: ApiObject | undefined,
) => Promise<(() => void) | undefined> | undefined;

/** One write: what, where and by whom. */
export interface Write<T extends ApiObject = ApiObject> {
  readonly context: Context;
  readonly resource: Resource<T>;
  /** "" for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly options: WriteOptions;
  /** The server itself made the change from a valid object: only its effect is checked, not the object again. */
  readonly trusted?: boolean;
  /** The managed fields are settled already: by server-side apply, or because the write is nobody's. */
  readonly applied?: boolean;
}

/** own fields → mutate → prepare → validate → admit → persist. The object is not shared yet. */
export async function createObject<T extends ApiObject>(
  deps: WriteDeps,
  write: Write<T>,
  object: T,
): Promise<EncodedObject<T>> {
  const { resource } = write;
  const { metadata } = object;
  placeInNamespace(write, object);
  const prefix = metadata.name ? "" : (metadata.generateName ?? "");
  if (prefix) metadata.name = generateUniqueName(prefix, deps.random);
  stampNew(resource, object, deps.clock.now());
  dropDuplicateOwners(write, object);
  // What admission adds belongs to nobody: a manager owns what it sent.
  recordOwnership(deps, write, { object, old: undefined });
  write.context.steps.mark("schema");
  for (let attempt = 1; ; attempt++) {
    try {
      return await createOnce(deps, write, object);
    } catch (error) {
      if (!prefix || !isAlreadyExists(error)) throw error;
      if (attempt === maxGeneratedNames) throw noUniqueName(error);
    }
    delete metadata.uid;
    metadata.name = generateUniqueName(prefix, deps.random);
  }
}

const maxGeneratedNames = 8;
const noUniqueName = ({ message, details }: StatusError): StatusError =>
  new StatusError("AlreadyExists", `${message}, the server was not able to generate a unique name for the object`, {
    ...details,
    retryAfterSeconds: 1,
  });

async function createOnce<T extends ApiObject>(deps: WriteDeps, write: Write<T>, object: T): Promise<EncodedObject<T>> {
  const { resource } = write;
  const request = admissionRequest(write, "CREATE", { object, oldObject: undefined });
  const { steps } = write.context;
  await deps.admission.mutate(request);
  steps.mark("mutate");
  resource.prepareForCreate?.(object);
  if (resource.hasGeneration) object.metadata.generation = 1;
  refuseFaults(resource, object, createFaults(resource, object));
  warn(write, object, undefined);
  steps.mark("schema");
  await deps.admission.validate(request);
  steps.mark("admit");
  const settle = await runHooks(deps, write as unknown as Write, object, undefined);
  try {
    if (write.options.dryRun) return await dryCreate(deps, resource, object);
    return await deps.objects.create(resource, object);
  } finally {
    settle();
  }
}

/** How a new version is made from the one that is there now; called again when somebody else was faster. */
export type Produce<T> = (current: T) => T | Promise<T>;

export interface Updated<T extends ApiObject> {
  readonly encoded: EncodedObject<T>;
  /** False when nothing was to be changed and so nothing was written. */
  readonly changed: boolean;
}

const maxAttempts = 20;

/** The same stages for a change; a change that changes nothing is not written. */
export async function updateObject<T extends ApiObject>(
  deps: WriteDeps,
  write: Write<T>,
  produce: Produce<T>,
): Promise<Updated<T>> {
  const { resource, namespace, name } = write;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const current = await deps.objects.get(resource, namespace, name);
    const object = await produce(current.object);
    // A client that said which version it means is refused here once that one is no longer the newest.
    matchIdentity(write, object, current.object);
    const result = await updateOnce(deps, write, { object, current });
    if (result) return result;
  }
  throw staleObject(resource, name);
}

/** undefined: somebody else was faster. */
async function updateOnce<T extends ApiObject>(
  deps: WriteDeps,
  write: Write<T>,
  { object, current }: { object: T; current: EncodedObject<T> },
): Promise<Updated<T> | undefined> {
  const { resource, subresource, options } = write;
  const old = current.object;
  keepIdentity(resource, object, old);
  dropDuplicateOwners(write, object);
  const request = admissionRequest(write, "UPDATE", { object, oldObject: old });
  const { steps } = write.context;
  recordOwnership(deps, write, { object, old });
  steps.mark("schema");
  await deps.admission.mutate(request);
  steps.mark("mutate");
  prepareUpdate(resource, { object, old, subresource });
  if (!write.trusted && subresource !== "status") countGeneration(resource, object, old);
  if (!write.trusted) refuseFaults(resource, object, updateFaults(resource, { object, old, subresource }));
  warn(write, object, old);
  steps.mark("schema");
  await deps.admission.validate(request);
  steps.mark("admit");
  if (isFinished(resource, object)) return await finish(deps, write, { object, current });
  const settle = await runHooks(deps, write as unknown as Write, object, old);
  try {
    settleOwnership(object, old);
    if (equal(object, old)) return { encoded: current, changed: false };
    if (options.dryRun) {
      return { encoded: new EncodedObject<T>(codecOf(resource), current.revision, { object }), changed: true };
    }
    const encoded = await deps.objects.replace(resource, object, current.revision);
    return encoded && { encoded, changed: true };
  } finally {
    settle();
  }
}

/** A deleted object whose last finalizer went is removed by the write that took it away. */
async function finish<T extends ApiObject>(
  deps: WriteDeps,
  { resource, options }: Write<T>,
  { object, current }: { object: T; current: EncodedObject<T> },
): Promise<Updated<T> | undefined> {
  if (!options.dryRun && (await deps.objects.remove(resource, object, current.revision)) === undefined)
    return undefined;
  return { encoded: new EncodedObject<T>(codecOf(resource), current.revision, { object }), changed: true };
}

/** Deletion was asked for and nothing holds the object any more. */
export const isFinished = (resource: Resource, object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  (object.metadata.finalizers?.length ?? 0) === 0 &&
  (object.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  !resource.holdsDeletion?.(object);

async function dryCreate<T extends ApiObject>(
  deps: WriteDeps,
  resource: Resource<T>,
  object: T,
): Promise<EncodedObject<T>> {
  const { namespace = "", name = "" } = object.metadata;
  const cache = await deps.objects.cache(resource);
  if (cache.encoded(namespace, name)) throw alreadyExists(resource, name);
  object.metadata.uid = randomUUID();
  return new EncodedObject<T>(codecOf(resource), 0, { object });
}

function placeInNamespace({ resource, namespace }: Write, { metadata }: ApiObject): void {
  if (resource.scope === "Cluster") {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  metadata.namespace = namespace;
}

/** What only the server may say about a new object. */
function stampNew(resource: Resource, object: ApiObject, now: number): void {
  object.kind = resource.kind;
  object.apiVersion = apiVersionOf(resource);
  const { metadata } = object;
  delete metadata.uid;
  delete metadata.resourceVersion;
  delete metadata.selfLink;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  if (resource.hasGeneration) delete metadata.generation;
  metadata.creationTimestamp = timestamp(now);
}

/** An owner counts once, however often it is named. */
function dropDuplicateOwners({ context }: Write, { metadata }: ApiObject): void {
  const owners = metadata.ownerReferences;
  if (!owners || owners.length < 2) return;
  const texts = owners.map(ownerText);
  // Validation refuses these.
  if (texts.some((text) => text.length > maxKeyChars)) return;
  const byText = new Map(owners.map((owner, index) => [texts[index], owner] as const).reverse());
  if (byText.size === owners.length) return;
  const kept = new Set(byText.values());
  const uids = new Set(owners.filter((owner) => !kept.has(owner)).map(({ uid }) => uid));
  metadata.ownerReferences = owners.filter((owner) => kept.has(owner));
  context.warnings.push(
    `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...uids].join(", ")}`,
  );
}

const ownerText = ({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string =>
  JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);

const generateUniqueName = (prefix: string, random: Random): string => prefix.slice(0, 63 - 5) + randomSuffix(random);

function matchIdentity(write: Write, { metadata }: ApiObject, { metadata: old }: ApiObject): void {
  const { resource, name } = write;
  checkName(metadata.name, name);
  placeInNamespace(write, { metadata });
  const isPatch = write.context.info.verb === "patch";
  // What a patch makes of the object is checked with all else; what an update sends is a condition.
  if (!isPatch && metadata.uid && metadata.uid !== old.uid) throw uidConflict(resource, { metadata }, old);
  const { resourceVersion } = metadata;
  const isConditional = resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== "0";
  if (isConditional && resourceVersion !== old.resourceVersion) throw staleObject(resource, name);
  if (resource.conditionalUpdate && !isConditional && !isPatch) throw unconditional(resource, name);
}

/** Upstream names the resource here where it otherwise names the kind. */
const unconditional = ({ group, plural }: Resource, name: string): StatusError =>
  invalid({ group, kind: plural }, name, [
    invalidValue(root.child("metadata", "resourceVersion"), 0, "must be specified for an update"),
  ]);

/** What a client cannot change is taken from what is there, so that leaving it out is no fault. */
function keepIdentity(resource: Resource, object: ApiObject, { metadata: old }: ApiObject): void {
  object.kind = resource.kind;
  object.apiVersion = apiVersionOf(resource);
  const { metadata } = object;
  metadata.resourceVersion = old.resourceVersion ?? "";
  if (old.generation === undefined) delete metadata.generation;
  else metadata.generation = old.generation;
  for (const name of identity) {
    if (metadata[name] === undefined && old[name] !== undefined) metadata[name] = old[name] as never;
  }
  delete metadata.selfLink;
}
const identity = ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;

/** Any change outside metadata and status is a new generation. */
function countGeneration(resource: Resource, object: ApiObject, old: ApiObject): void {
  if (!resource.hasGeneration) return;
  const { metadata: _a, ...mine } = object as ApiObject & { status?: unknown };
  const { metadata: _b, ...theirs } = old as ApiObject & { status?: unknown };
  if (equal({ ...mine, status: undefined }, { ...theirs, status: undefined })) return;
  object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function recordOwnership<T extends ApiObject>(
  deps: WriteDeps,
  write: Write<T>,
  { object, old }: { object: T; old: T | undefined },
): void {
  const { resource, subresource, options } = write;
  if (write.applied) return;
  const managedFields = updateManagedFields({
    resource: resource as unknown as Resource,
    oldObject: old,
    newObject: object,
    manager: options.manager,
    subresource,
    now: deps.clock.now(),
  });
  if (managedFields) object.metadata.managedFields = managedFields as ApiObject["metadata"]["managedFields"] & object;
  else delete object.metadata.managedFields;
}

/** New times of managed fields are no change by themselves. */
function settleOwnership(object: ApiObject, old: ApiObject): void {
  const settled = settledEntries(old, object);
  if (settled && settled !== object.metadata.managedFields) object.metadata.managedFields = [...settled];
}

function refuseFaults(resource: Resource, object: ApiObject, faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalid(resource.storedAs?.resource ?? resource, object.metadata.name ?? "", faults);
}

/** Who reports a status, or changes a part, is not to blame for the rest. */
function warn({ context, resource, subresource }: Write, object: ApiObject, old: ApiObject | undefined): void {
  if (resource.warnings && subresource === "") context.warnings.push(...warningsOf(resource, object, old));
}

export function admissionRequest(
  { context, resource, subresource, namespace, name, options }: Write,
  operation: AdmissionRequest["operation"],
  { object, oldObject }: Pick<AdmissionRequest, "object" | "oldObject">,
): AdmissionRequest {
  const facts = { operation, resource, subresource, namespace, name: object?.metadata.name ?? name };
  return new RequestOf(context, { ...facts, object, oldObject, user: context.user, dryRun: options.dryRun });
}

type RequestFacts = Omit<AdmissionRequest, "signal" | "warn">;

/** A class, because a getter of its own would cost every request more than all the rest of this. */
class RequestOf implements AdmissionRequest {
  readonly #context: Context;
  readonly operation: AdmissionRequest["operation"];
  readonly resource: AdmissionRequest["resource"];
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly object: AdmissionRequest["object"];
  readonly oldObject: AdmissionRequest["oldObject"];
  readonly user: AdmissionRequest["user"];
  readonly dryRun: boolean;

  constructor(context: Context, facts: RequestFacts) {
    this.#context = context;
    this.operation = facts.operation;
    this.resource = facts.resource;
    this.subresource = facts.subresource;
    this.namespace = facts.namespace;
    this.name = facts.name;
    this.object = facts.object;
    this.oldObject = facts.oldObject;
    this.user = facts.user;
    this.dryRun = facts.dryRun;
  }
  get signal(): AbortSignal {
    return this.#context.request.signal;
  }
  warn(message: string): void {
    this.#context.warnings.push(message);
  }
}

async function runHooks(
  deps: WriteDeps,
  write: Write,
  object: ApiObject,
  old: ApiObject | undefined,
): Promise<() => void> {
  const ends: (() => void)[] = [];
  const settle = () => {
    for (const end of ends) end();
  };
  try {
    for (const hook of deps.hooks) {
      const running = hook(write, object, old);
      const end = running && (await running);
      if (end) ends.push(end);
    }
  } catch (error) {
    settle();
    throw error;
  }
  return settle;
}
