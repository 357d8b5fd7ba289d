import { type DeleteOptions } from "#api/meta/delete-options.ts";
import { StatusError } from "#api/status.ts";
import { type AdmissionRequest } from "#server/admission/plugin.ts";
import { type Context } from "#server/request/pipeline.ts";
import { type Version, type Write, type WriteDeps } from "../write.ts";

/** The admission request of a write. */
export function admissionRequest(
  { context, resource, subresource, namespace, name, options }: Write,
  operation: AdmissionRequest["operation"],
  { object, old, deleteOptions }: Partial<Version> & { readonly deleteOptions?: DeleteOptions },
): WriteRequest {
  const facts = { operation, resource, subresource, namespace, name: object?.metadata.name ?? name };
  const more = { object, oldObject: old, user: context.user, dryRun: options.dryRun };
  return new RequestOf(context, { ...facts, ...more }, deleteOptions);
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

/**
 * Runs the steps from admission to commit. If they fail or find a newer version, what plugins did is undone, unless the
 * store does not know whether it has written.
 */
export function orUndo<R>(request: WriteRequest, steps: () => Promise<R>): Promise<R> {
  const settle = (written: R): R => {
    if (written === undefined) request.undo();
    return written;
  };
  return steps().then(settle, (error: unknown) => {
    if (!isTimeout(error)) request.undo();
    throw error;
  });
}

const isTimeout = (error: unknown): boolean => error instanceof StatusError && error.reason === "Timeout";

/** An admission request whose plugins learn that the write did not happen. */
export interface WriteRequest extends AdmissionRequest {
  undo(): void;
}

type RequestFacts = Omit<AdmissionRequest, "verb" | "options" | "signal" | "warn" | "annotate" | "ifNotWritten">;

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
  readonly #deleteOptions: DeleteOptions | undefined;

  constructor(context: Context, facts: RequestFacts, deleteOptions: DeleteOptions | undefined) {
    this.#context = context;
    this.#deleteOptions = deleteOptions;
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
  options(operation: AdmissionRequest["operation"]): object {
    const dryRun = this.dryRun ? { dryRun: ["All"] } : {};
    const head = (kind: string) => ({ kind, apiVersion: "meta.k8s.io/v1" });
    if (operation === "DELETE") return { ...head("DeleteOptions"), ...this.#deleteOptions };
    const { query } = this.#context;
    const [fieldManager, fieldValidation] = [query.get("fieldManager"), query.get("fieldValidation")];
    return {
      ...head(operation === "CREATE" ? "CreateOptions" : "UpdateOptions"),
      ...dryRun,
      ...(fieldManager ? { fieldManager } : {}),
      ...(fieldValidation ? { fieldValidation } : {}),
    };
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
