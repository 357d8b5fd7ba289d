import { type AdmissionRequest } from "#server/admission/plugin.ts";
import { type Context } from "#server/request/pipeline.ts";
import { type Version, type Write, type WriteDeps } from "../write.ts";

/** The admission request of a write. */
export function admissionRequest(
  { context, resource, subresource, namespace, name, options }: Write,
  operation: AdmissionRequest["operation"],
  { object, old }: Partial<Version>,
): WriteRequest {
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

/** Runs the steps from admission to commit. If they fail or find a newer version, what plugins did is undone. */
export async function orUndo<R>(request: WriteRequest, steps: () => Promise<R>): Promise<R> {
  try {
    const written = await steps();
    if (written === undefined) request.undo();
    return written;
  } catch (error) {
    request.undo();
    throw error;
  }
}

/** An admission request whose plugins learn that the write did not happen. */
export interface WriteRequest extends AdmissionRequest {
  undo(): void;
}

type RequestFacts = Omit<AdmissionRequest, "verb" | "signal" | "warn" | "annotate" | "ifNotWritten">;

/** A class, because a getter in an object literal would cost every request more than everything else here. */
class RequestOf implements WriteRequest {
  readonly #context: Context;
  #undo: (() => void) | undefined;
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
  ifNotWritten(undo: () => void): void {
    const before = this.#undo;
    this.#undo = before
      ? () => {
          before();
          undo();
        }
      : undo;
  }
  undo(): void {
    this.#undo?.();
    this.#undo = undefined;
  }
  annotate(key: string, value: string): void {
    this.#context.annotations.set(key, value);
  }
}
