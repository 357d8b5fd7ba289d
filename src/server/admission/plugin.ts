import { type ApiObject, type Resource } from "#api/resource.ts";
import { type UserInfo } from "#server/request/pipeline.ts";

/** Changes or refuses a write. To refuse, a plugin throws a StatusError. */
export interface AdmissionPlugin {
  readonly name: string;
  /**
   * `always`: it is a part of the API and cannot be turned off. `asked`: only if it is turned on. By default, it runs
   * unless it is turned off.
   */
  readonly runs?: "always" | "asked";
  /** Whether it has something to do with writes of this type. Asked once for each of them, so the answer must not change. */
  appliesTo(write: WriteType): boolean;
  /** May change `request.object`, which is not shared yet. */
  mutate?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
  readonly again?: SecondRound;
}

/** What is the same for all writes that a plugin treats alike. */
export type WriteType = Pick<AdmissionRequest, "operation" | "resource" | "subresource">;

/** For plugins that others configure: if one of them changes the object, all plugins look at it a second time. */
export interface SecondRound {
  /** Called once all plugins have seen the object. */
  isNeeded(request: AdmissionRequest): boolean;
  /** Called before the second round, whoever needs it. */
  start(request: AdmissionRequest): void;
}

export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** The verb that was authorised, such as `patch`, for plugins that ask for further rights. */
  readonly verb: string;
  readonly resource: Resource;
  /** "" for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** "" while generateName has not been used yet. */
  readonly name: string;
  /**
   * The new object; undefined for DELETE. For a subresource that changes the object, such as `status` or `scale`, it is
   * the whole changed object. For `token` it is the TokenRequest.
   */
  readonly object: ApiObject | undefined;
  /** undefined for CREATE. It is shared and must not be changed. */
  readonly oldObject: ApiObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The options of the request for an operation, such as `CreateOptions`, as a plain object. undefined for CONNECT. */
  options(operation: AdmissionRequest["operation"]): object | undefined;
  readonly signal: AbortSignal;
  warn(message: string): void;
  /** To be called if the write does not happen, because a later check refuses it or the store does. */
  ifNotWritten(undo: () => void): void;
  /** Adds a fact to the audit event of the request: `pod-security.kubernetes.io/enforce-policy`. */
  annotate(key: string, value: string): void;
}
