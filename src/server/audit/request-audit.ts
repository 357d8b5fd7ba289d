import { type Answer, type UserInfo } from "#api/exchange.ts";
import { isObject } from "#lib/data/json-object.ts";
import { auditIdOf } from "../request/audit-id.ts";
import { type AuditNotes, type Context } from "../request/pipeline.ts";
import { type AuditEvent, type ObjectRef, type ResponseStatus, renderEvent } from "./event.ts";
import type { AuditScope, AuditStage } from "./policy.ts";
import { sourceAddresses } from "./source-addresses.ts";

export interface RequestAuditDeps {
  /** Passes an event to all backends; returns whether it will be written. */
  emit(event: AuditEvent): boolean | Promise<boolean>;
  now(): number;
}

/** The outcome of a request: its status, and its body as JSON. */
export interface Outcome {
  readonly status: ResponseStatus;
  readonly object?: string | undefined;
}

const maxAgentChars = 1024;

/** What is recorded about one request, from its beginning to its end. */
export class RequestAudit implements AuditNotes {
  readonly scope: AuditScope;
  readonly #context: Context;
  readonly #deps: RequestAuditDeps;
  /** Who sent it; `context.user` is who it acts as. */
  readonly #user: UserInfo;
  readonly #receivedMs: number;
  /** A list that was read after the endpoint had answered. */
  readLater: Extract<Answer, { type: "list" }> | undefined;
  #named: Named = {};
  #requestObject: string | undefined;
  #isOver = false;

  constructor(context: Context, scope: AuditScope, deps: RequestAuditDeps) {
    this.#context = context;
    this.scope = scope;
    this.#deps = deps;
    this.#user = context.user;
    this.#receivedMs = deps.now();
  }

  get wantsResponse(): boolean {
    return this.scope.level === "RequestResponse";
  }

  body(value: unknown, type: { readonly kind: string; readonly apiVersion: string }): void {
    if (!isObject(value)) return;
    // Now, because the steps of a write change the object.
    const { name, namespace, uid, resourceVersion } = isObject(value.metadata) ? (value.metadata as Named) : {};
    this.#named = { name, namespace, uid, resourceVersion };
    if (this.scope.level === "Metadata") return;
    this.#requestObject = JSON.stringify({ ...type, ...this.bodyOf(value) });
  }

  patch(value: unknown): void {
    if (this.scope.level !== "Metadata") this.#requestObject = JSON.stringify(value);
  }

  /** The object as it is recorded. */
  bodyOf(value: object): object {
    const { metadata } = value as { metadata?: unknown };
    if (!this.scope.omitManagedFields || !isObject(metadata) || !metadata.managedFields) return value;
    const { managedFields: _, ...rest } = metadata;
    return { ...value, metadata: rest };
  }

  received(): boolean | Promise<boolean> {
    return this.#emit("RequestReceived", this.#receivedMs);
  }

  /** A response that continues begins. */
  started(status: ResponseStatus): boolean | Promise<boolean> {
    return this.#emit("ResponseStarted", this.#deps.now(), { status });
  }

  /** The last event, however often it is called. */
  complete(outcome: Outcome, stage: AuditStage = "ResponseComplete"): boolean | Promise<boolean> {
    if (this.#isOver) return true;
    this.#isOver = true;
    return this.#emit(stage, this.#deps.now(), outcome);
  }

  #emit(stage: AuditStage, stageMs: number, outcome?: Outcome): boolean | Promise<boolean> {
    if (this.scope.omitStages.has(stage)) return true;
    const { request, info, user, annotations } = this.#context;
    const isImpersonated = user !== this.#user && this.#user.name !== "";
    const agent = request.headers["user-agent"] ?? "";
    return this.#deps.emit(
      renderEvent({
        level: this.scope.level,
        auditID: auditIdOf(this.#context),
        stage,
        requestURI: request.query ? `${request.path}?${request.query}` : request.path,
        verb: info.verb,
        user: this.#user,
        impersonatedUser: isImpersonated ? user : undefined,
        sourceIPs: sourceAddresses(request),
        userAgent: agent.length > maxAgentChars ? `${agent.slice(0, maxAgentChars)}...TRUNCATED` : agent,
        objectRef: info.isResource ? this.#objectRef() : undefined,
        responseStatus: outcome?.status,
        requestObject: this.#requestObject,
        responseObject: outcome?.object,
        receivedMs: this.#receivedMs,
        stageMs,
        annotations,
      }),
    );
  }

  #objectRef(): ObjectRef {
    const { info } = this.#context;
    const { name, namespace, uid, resourceVersion } = this.#named;
    return {
      resource: info.resource,
      namespace: info.namespace || (namespace ?? ""),
      name: info.name || (name ?? ""),
      uid: uid ?? "",
      apiGroup: info.group,
      apiVersion: info.version,
      resourceVersion: resourceVersion ?? "",
      subresource: info.subresource,
    };
  }
}

type Named = { readonly [field in "name" | "namespace" | "uid" | "resourceVersion"]?: string | undefined };
