import { type AdmissionRequest } from "#server/admission/plugin.ts";
import { type Context } from "#server/request/pipeline.ts";
import { type Version, type Write, type WriteDeps } from "../write.ts";

/** The admission request of a write. */
export function admissionRequest(
  { context, resource, subresource, namespace, name, options }: Write,
  operation: AdmissionRequest["operation"],
  { object, old }: Partial<Version>,
): AdmissionRequest {
  const facts = { operation, resource, subresource, namespace, name: object?.metadata.name ?? name };
  return new RequestOf(context, { ...facts, object, oldObject: old, user: context.user, dryRun: options.dryRun });
}

/** Lets the plugins change the object, before it is validated. */
export function mutate(
  { admission }: WriteDeps,
  { context: { steps } }: Write,
  request: AdmissionRequest,
): void | Promise<void> {
  steps.mark("schema");
  const pending = admission.mutate(request);
  return pending ? pending.then(() => steps.mark("mutate")) : steps.mark("mutate");
}

/** Lets the plugins refuse the object, in its final form. */
export function admit(
  { admission }: WriteDeps,
  { context: { steps } }: Write,
  request: AdmissionRequest,
): void | Promise<void> {
  steps.mark("schema");
  const pending = admission.validate(request);
  return pending ? pending.then(() => steps.mark("admit")) : steps.mark("admit");
}

type RequestFacts = Omit<AdmissionRequest, "verb" | "signal" | "warn" | "annotate">;

/** A class, because a getter in an object literal would cost every request more than everything else here. */
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
  get verb(): string {
    return this.#context.info.verb;
  }
  get signal(): AbortSignal {
    return this.#context.request.signal;
  }
  warn(message: string): void {
    this.#context.warnings.push(message);
  }
  annotate(key: string, value: string): void {
    this.#context.annotations.set(key, value);
  }
}
