import { type Details, type Reason, StatusError } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { parseJson } from "#schema/json/json.ts";
import { type ReviewVersion } from "./review.ts";

/** What a webhook decided. */
export interface WebhookAnswer {
  readonly allowed: boolean;
  /** Why it refused, as it said. */
  readonly status: Json;
  /** The operations of its JSON patch. */
  readonly patch: readonly unknown[];
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}
type Json = Readonly<Record<string, unknown>>;

/** The answer cannot be used. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";

  constructor(why: string, what = "received invalid webhook response") {
    super(`${what}: ${why}`);
  }
}

interface Expected {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly mutates: boolean;
}

/** Reads and checks an AdmissionReview. Throws AnswerError. */
export function readAnswer(bytes: Uint8Array, expected: Expected): WebhookAnswer {
  const review = parseReview(bytes);
  const { response } = review;
  if (response === undefined || response === null) throw new AnswerError("webhook response was absent");
  if (!isObject(response)) throw new AnswerError("response must be an object");
  if (expected.version === "v1") checkIdentity(review, response, expected);
  return {
    allowed: boolean(response.allowed, "response.allowed"),
    status: objectIn(response.status, "response.status"),
    patch: operationsOf(patchIn(response, expected)),
    warnings: texts(response.warnings, "response.warnings"),
    auditAnnotations: textMap(response.auditAnnotations, "response.auditAnnotations"),
  };
}

function parseReview(bytes: Uint8Array): Json {
  try {
    const { value } = parseJson(bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new AnswerError(`couldn't get version/kind; json parse error: ${error.message}`);
  }
  throw new AnswerError("couldn't get version/kind; an object was expected");
}

const v1Kind = "admission.k8s.io/v1, Kind=AdmissionReview";

function checkIdentity(review: Json, response: Json, { uid }: Expected): void {
  const got = text(response.uid, "response.uid");
  if (got !== uid) throw new AnswerError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(got)}`);
  const kind = `${text(review.apiVersion, "apiVersion") || "/"}, Kind=${text(review.kind, "kind")}`;
  if (kind !== v1Kind) throw new AnswerError(`expected webhook response of ${v1Kind}, got ${kind}`);
}

/** The bytes of the patch. */
function patchIn(response: Json, { version, mutates }: Expected): Uint8Array | undefined {
  const patch = text(response.patch, "response.patch");
  const hasType = response.patchType !== undefined && response.patchType !== null;
  const patchType = text(response.patchType, "response.patchType");
  if (version === "v1beta1") return mutates && patch ? base64(patch) : undefined;
  if (!mutates) {
    if (patch) throw new AnswerError("validating webhook may not return response.patch");
    if (hasType) throw new AnswerError("validating webhook may not return response.patchType");
    return undefined;
  }
  if (patch && !hasType) throw new AnswerError("webhook returned response.patch but not response.patchType");
  if (!patch && hasType) throw new AnswerError("webhook returned response.patchType but not response.patch");
  if (!patch) return undefined;
  if (patchType === "") throw new AnswerError(`webhook returned invalid response.patchType of ""`);
  if (patchType !== "JSONPatch") throw new AnswerError(`unsupported patch type ${JSON.stringify(patchType)}`);
  return base64(patch);
}

function base64(patch: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(patch)) throw new AnswerError("response.patch must be base64");
  return Buffer.from(patch, "base64");
}

function operationsOf(patch: Uint8Array | undefined): readonly unknown[] {
  if (!patch) return [];
  const undecodable = "received undecodable patch in webhook response";
  try {
    const { value } = parseJson(patch);
    if (Array.isArray(value)) return value;
    if (value === null) return [];
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new AnswerError(error.message, undecodable);
  }
  throw new AnswerError("a list of operations was expected", undecodable);
}

/** What the caller is told when a webhook refuses. A code that is not an error's becomes 400. */
export function refusalOf(webhook: string, { message, reason, code, details }: Json): StatusError {
  const deniedBy = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = textOr(message) || textOr(reason);
  const status = typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400;
  return new StatusError(
    // Any text is a reason here: the caller gets what the webhook said.
    textOr(reason) as Reason | "",
    why ? `${deniedBy}: ${why}` : `${deniedBy} without explanation`,
    isObject(details) ? (details as Details) : undefined,
    { code: status },
  );
}

const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

function text(value: unknown, path: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw new AnswerError(`${path} must be a string`);
}
function boolean(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  throw new AnswerError(`${path} must be a boolean`);
}
function objectIn(value: unknown, path: string): Json {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw new AnswerError(`${path} must be an object`);
}
function texts(value: unknown, path: string): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((one) => text(one, path));
  throw new AnswerError(`${path} must be a list of strings`);
}
function textMap(value: unknown, path: string): Record<string, string> {
  const entries = Object.entries(objectIn(value, path));
  return Object.fromEntries(entries.map(([key, one]) => [key, text(one, path)]));
}
