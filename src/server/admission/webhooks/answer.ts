import { type Details, type Reason, StatusError } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { DecodeError, jsonKind } from "#schema/json/decode-error.ts";
import { parseJson } from "#schema/json/json.ts";
import { readScalar } from "#schema/scalars.ts";
import type { ReviewVersion } from "./review.ts";

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
  const { version } = expected;
  const { response } = review;
  if (response === undefined || response === null) throw new AnswerError("webhook response was absent");
  if (!isObject(response)) throw mistyped(response, "AdmissionReview.response", `${version}.AdmissionResponse`);
  const allowed = boolean(response.allowed, "allowed");
  const status = objectIn(response.status, "status", "v1.Status");
  const said = readPatch(response, version);
  const warnings = texts(response.warnings, "warnings");
  const auditAnnotations = textMap(response.auditAnnotations, "auditAnnotations");
  if (version === "v1") checkIdentity(review, response, expected);
  return { allowed, status, patch: operationsOf(patchOf(said, expected)), warnings, auditAnnotations };
}

function parseReview(bytes: Uint8Array): Json {
  // Only an answer with the code 200 gets here, and nothing but JSON can be read.
  const none = "0-length response with status code: 200 and content type: application/json";
  if (bytes.length === 0) throw new AnswerError(none, notDecoded);
  try {
    const { value } = parseJson(bytes);
    if (value === null) return {};
    if (isObject(value)) {
      for (const name of ["apiVersion", "kind"] as const) textIn(value[name], `.${name}`, "string", notReview);
      return value;
    }
    throw new DecodeError(`json: cannot unmarshal ${jsonKind(value)} into Go value of type ${reviewHead}`);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new AnswerError(error.message, notReview);
  }
}

const notDecoded = "failed to call webhook";
const notReview = `${notDecoded}: couldn't get version/kind; json parse error`;
/** What upstream reads first. */
const reviewHead = `struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;

const v1Kind = "admission.k8s.io/v1, Kind=AdmissionReview";

function checkIdentity(review: Json, response: Json, { uid }: Expected): void {
  const got = textIn(response.uid, "AdmissionResponse.response.uid", "types.UID");
  if (got !== uid) throw new AnswerError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(got)}`);
  const kind = `${textOr(review.apiVersion) || "/"}, Kind=${textOr(review.kind)}`;
  if (kind !== v1Kind) throw new AnswerError(`expected webhook response of ${v1Kind}, got ${kind}`);
}

interface Patch {
  readonly bytes: Uint8Array;
  readonly patchType: string | undefined;
}

function readPatch({ patch, patchType }: Json, version: ReviewVersion): Patch {
  return {
    bytes: base64(textIn(patch, "AdmissionResponse.response.patch", "[]uint8")),
    patchType:
      patchType === undefined || patchType === null
        ? undefined
        : textIn(patchType, "AdmissionResponse.response.patchType", `${version}.PatchType`),
  };
}

/** The bytes of the patch, if it has one and may have it. */
function patchOf({ bytes, patchType }: Patch, { version, mutates }: Expected): Uint8Array | undefined {
  const hasPatch = bytes.length > 0;
  const hasType = patchType !== undefined;
  if (version === "v1beta1") return mutates && hasPatch ? bytes : undefined;
  if (!mutates) {
    if (hasPatch) throw new AnswerError("validating webhook may not return response.patch");
    if (hasType) throw new AnswerError("validating webhook may not return response.patchType");
    return undefined;
  }
  if (hasPatch && !hasType) throw new AnswerError("webhook returned response.patch but not response.patchType");
  if (!hasPatch && hasType) throw new AnswerError("webhook returned response.patchType but not response.patch");
  if (!hasPatch) return undefined;
  if (patchType === "") throw new AnswerError(`webhook returned invalid response.patchType of ""`);
  if (patchType !== "JSONPatch") throw new AnswerError(`unsupported patch type ${JSON.stringify(patchType)}`);
  return bytes;
}

function base64(text: string): Uint8Array {
  try {
    return Buffer.from(String(readScalar.bytes(text)), "base64");
  } catch (error) {
    throw error instanceof DecodeError ? new AnswerError(error.message, notDecoded) : error;
  }
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

function textIn(value: unknown, field: string, goType: string, what = notDecoded): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw mistyped(value, field, goType, what);
}
function boolean(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  throw mistyped(value, `AdmissionResponse.response.${name}`, "bool");
}
function objectIn(value: unknown, name: string, goType: string): Json {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw mistyped(value, `AdmissionResponse.response.${name}`, goType);
}
function texts(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return [];
  const field = `AdmissionResponse.response.${name}`;
  if (Array.isArray(value)) return value.map((one) => textIn(one, field, "string"));
  throw mistyped(value, field, "[]string");
}
function textMap(value: unknown, name: string): Record<string, string> {
  const entries = Object.entries(objectIn(value, name, "map[string]string"));
  return Object.fromEntries(
    entries.map(([key, one]) => [key, textIn(one, `AdmissionResponse.response.${name}`, "string")]),
  );
}

/** A value of another type than the review has there, in the words of upstream's decoder. */
const mistyped = (value: unknown, field: string, goType: string, what = notDecoded): AnswerError =>
  new AnswerError(`json: cannot unmarshal ${jsonKind(value)} into Go struct field ${field} of type ${goType}`, what);
