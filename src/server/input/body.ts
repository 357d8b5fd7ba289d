import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { badRequest, tooLarge, tooManyRequests, unsupportedMediaType } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { YamlError, yamlToJson } from "#lib/yaml/yaml.ts";
import { YamlBusyError } from "#lib/yaml/yaml-pool.ts";
import { decode } from "#schema/json/decode.ts";
import { DecodeError, TooManyValues } from "#schema/json/decode-error.ts";
import { duplicateKeys, parseJson } from "#schema/json/json.ts";
import { decodeProtobuf } from "#schema/protobuf/protobuf-decode.ts";
import { decodeEnvelope } from "#schema/protobuf/protobuf-envelope.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { ownerOf } from "#server/http/callers.ts";
import { type Context } from "#server/request/pipeline.ts";
import { isBuiltInKind } from "./known-kinds.ts";

/** What a body must contain. */
export interface Expected {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: ObjectSchema;
  /** It has no protobuf form. */
  readonly isJsonOnly?: boolean;
  /** Ignore the apiVersion in the data. */
  readonly anyVersion?: boolean;
}
export interface ReadOptions {
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly defaults: boolean;
  /** The source of the raw value; see `decode`. */
  readonly settled?: object | undefined;
}

/** A raw value, and its text if duplicates can be found in it. */
export interface RawBody {
  readonly value: unknown;
  readonly text: string | undefined;
  /** What strict reading of YAML has found: duplicate keys. */
  readonly fault?: string;
}

/** The object in the request's body, in any encoding, decoded and defaulted. */
export function readObject<T extends ApiObject>(
  context: Context,
  resource: Resource<T>,
  { fieldValidation }: Pick<ReadOptions, "fieldValidation">,
): Promise<T> {
  return readAs(context, resource as unknown as Expected, { fieldValidation, defaults: true }) as Promise<T>;
}

export async function readAs(context: Context, expected: Expected, options: ReadOptions): Promise<unknown> {
  const raw = await rawBody(context, expected);
  const isLong = (context.request.body?.length ?? 0) >= longBytes;
  // Lets other requests run between the expensive steps.
  if (isLong) await nextTurn();
  const value = decodeRaw(context, expected, raw, options);
  context.audit?.body(value, { kind: expected.kind, apiVersion: apiVersionOf(expected) });
  if (isLong) await nextTurn();
  return value;
}

/** From this length on, other requests run between the steps of reading and writing an object. */
export const longBytes = 64 << 10;

/** Decodes a raw value as the expected kind; unknown fields become an error or a warning. */
export function decodeRaw(context: Context, expected: Expected, sent: RawBody, options: ReadOptions): unknown {
  // To Go, null is an object without fields.
  const raw: RawBody = sent.value === null ? { ...sent, value: {} } : sent;
  checkKind(raw.value, expected);
  const { kind, schema } = expected;
  const asKind = (why: string) =>
    badRequest(`${kind} in version ${JSON.stringify(expected.version)} cannot be handled as a ${kind}: ${why}`);
  try {
    const { value, unknown, keys } = decode(schema, raw.value, options);
    if (options.fieldValidation === "Ignore") return value;
    const duplicates = raw.text === undefined ? [] : duplicateKeys(raw.text, keys);
    if (unknown.length === 0 && duplicates.length === 0 && !raw.fault) return value;
    const faults = [
      ...(raw.fault ? [raw.fault] : []),
      ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
      ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ];
    if (options.fieldValidation === "Strict") throw asKind(`strict decoding error: ${faults.join(", ")}`);
    context.warnings.push(...faults);
    return value;
  } catch (error) {
    if (error instanceof TooManyValues) throw tooLarge(error.message);
    if (error instanceof DecodeError) throw asKind(error.message);
    throw error;
  }
}

/** The body as a plain value. */
async function rawBody(context: Context, expected: Expected): Promise<RawBody> {
  const { kind, schema, isJsonOnly = false } = expected;
  const { request } = context;
  if (request.object !== undefined) return { value: request.object, text: undefined };
  const bytes = request.body ?? new Uint8Array();
  const type = mediaType(request.headers["content-type"]) || "application/json";
  try {
    if (type === "application/json") return parseJson(bytes);
    if (type === "application/yaml") return await yamlValue(bytes, ownerOf(context.user.name));
    if (type === protobufType && !isJsonOnly) return { value: fromProtobuf(bytes, schema), text: undefined };
  } catch (error) {
    if (error instanceof TooManyValues) throw tooLarge(error.message);
    if (error instanceof DecodeError) {
      const what = type === "application/json" ? `couldn't get version/kind; json parse error: ` : "";
      throw badRequest(
        `the object provided is unrecognized (must be of type ${kind}): ${what}${error.message} (${summaryOf(bytes)})`,
      );
    }
    throw error;
  }
  const types = ["application/json", "application/yaml", ...(isJsonOnly ? [] : [protobufType])];
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${types.join(", ")}`,
  );
}
const protobufType = "application/vnd.kubernetes.protobuf";

/** The beginning of an unreadable body: as text if it looks like JSON. */
function summaryOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const start = Buffer.from(bytes.subarray(0, maxSummaryBytes));
  return `${start.toString(bytes[0] === 0x7b ? "utf8" : "hex")}${bytes.length > maxSummaryBytes ? " ..." : ""}`;
}
const maxSummaryBytes = 30;

export const mediaType = (header: string | undefined): string =>
  (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";

export async function yamlValue(bytes: Uint8Array, owner: string): Promise<RawBody> {
  // JSON is valid YAML, is what most clients send as YAML, and is parsed a hundred times faster.
  const json = looksLikeJson(bytes) ? jsonValue(bytes) : undefined;
  if (json) return { value: json.value, text: undefined };
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    const { bytes: read, duplicates } = await yamlToJson(text, owner);
    const fault = duplicates.length > 0 ? `yaml: unmarshal errors:\n${indented(duplicates)}` : undefined;
    return { value: parseJson(read).value, text: undefined, ...(fault ? { fault } : {}) };
  } catch (error) {
    if (error instanceof YamlError) throw new DecodeError(error.message, { cause: error });
    if (error instanceof YamlBusyError) throw tooManyRequests(error.message);
    throw error;
  }
}

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join("\n");

const looksLikeJson = (bytes: Uint8Array): boolean => bytes[0] === 0x7b || bytes[0] === 0x5b;

/** undefined if it is not JSON after all. */
function jsonValue(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof DecodeError && error.cause === undefined) throw error;
    return undefined;
  }
}

function fromProtobuf(bytes: Uint8Array, schema: ObjectSchema): unknown {
  const { apiVersion, kind, raw } = decodeEnvelope(bytes);
  return {
    ...(decodeProtobuf(schema, raw) as object),
    ...(kind ? { kind } : {}),
    ...(apiVersion ? { apiVersion } : {}),
  };
}

function checkKind(raw: unknown, { group, version, kind, anyVersion, isJsonOnly }: Expected): void {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; an object was expected`,
    );
  }
  const rawKind = textOf(raw, "kind");
  const rawVersion = textOf(raw, "apiVersion");
  const wanted = apiVersionOf({ group, version });
  const isOther = (rawKind !== "" && rawKind !== kind) || (rawVersion !== "" && rawVersion !== wanted);
  if (!isOther || (anyVersion && !(rawKind && rawKind !== kind))) return;
  const [saidKind, saidVersion] = [rawKind || kind, rawVersion || wanted];
  const shortVersion = JSON.stringify(saidVersion.slice(saidVersion.indexOf("/") + 1));
  const mismatch = `${saidKind} in version ${shortVersion} cannot be handled as a ${kind}`;
  if (!isJsonOnly && !isBuiltInKind(saidVersion, saidKind)) {
    const registered = `no kind ${JSON.stringify(saidKind)} is registered for version ${JSON.stringify(saidVersion)}`;
    throw badRequest(`${mismatch}: ${registered} in scheme "pkg/runtime/scheme.go:111"`);
  }
  if (saidKind !== kind) throw badRequest(mismatch);
  throw badRequest(`the API version in the data (${rawVersion}) does not match the expected API version (${wanted})`);
}

function textOf(raw: object, name: "kind" | "apiVersion"): string {
  const value = (raw as Readonly<Record<string, unknown>>)[name];
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  throw badRequest(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go struct field .${name} of type string`,
  );
}
