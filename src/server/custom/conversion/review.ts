import { type ApiObject } from "#api/resource.ts";
import { isObject } from "#lib/data/json-object.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { parseJson } from "#schema/json/json.ts";
import { ConversionFault, shownKind } from "./conversion-fault.ts";

export type ReviewVersion = "v1" | "v1beta1";

/** The first version in the webhook's list that we know. */
export const reviewVersionOf = (versions: readonly string[]): ReviewVersion | undefined =>
  versions.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");

export interface Asked {
  readonly uid: string;
  readonly version: ReviewVersion;
  /** The version to which the objects are to be converted. */
  readonly desiredAPIVersion: string;
  readonly objects: readonly ApiObject[];
}

/** The document that a webhook gets. */
export const createReview = ({ uid, version, desiredAPIVersion, objects }: Asked): object => ({
  kind: "ConversionReview",
  apiVersion: `apiextensions.k8s.io/${version}`,
  request: { uid, desiredAPIVersion, objects },
});

type Json = Readonly<Record<string, unknown>>;
const maxMessageBytes = 4096;

/** The converted objects of an answer, which are not looked at yet. Throws ConversionFault. */
export function readAnswer(bytes: Uint8Array, asked: Asked): readonly unknown[] {
  const review = parse(bytes);
  const { response } = review;
  if (asked.version === "v1") checkKind(review);
  if (response === undefined || response === null) throw malformed("no response provided");
  if (!isObject(response)) throw undecodable("response must be an object");
  const uid = textIn(response, "uid");
  if (asked.version === "v1" && uid !== asked.uid) {
    throw malformed(`expected response.uid=${JSON.stringify(asked.uid)}, got ${JSON.stringify(uid)}`);
  }
  checkResult(response.result);
  const { convertedObjects = [] } = response;
  if (convertedObjects !== null && !Array.isArray(convertedObjects)) {
    throw undecodable("response.convertedObjects must be a list");
  }
  const { length } = convertedObjects ?? [];
  const expected = asked.objects.length;
  if (convertedObjects && length === expected) return convertedObjects;
  throw new ConversionFault(
    "conversion_webhook_partial_response_failure",
    `returned ${length} objects, expected ${expected}`,
  );
}

function checkResult(result: unknown): void {
  if (result !== undefined && result !== null && !isObject(result)) throw undecodable("result must be an object");
  const { status, message } = { status: textIn(result ?? {}, "status"), message: textIn(result ?? {}, "message") };
  if (status === "Success") return;
  throw malformed(message || `response.result.status was '${status}', not 'Success'`);
}

const v1Kind = "apiextensions.k8s.io/v1, Kind=ConversionReview";

function checkKind(review: Json): void {
  const kind = shownKind({ apiVersion: textIn(review, "apiVersion"), kind: textIn(review, "kind") });
  if (kind !== v1Kind) throw malformed(`expected webhook response of ${v1Kind}, got ${kind}`);
}

function parse(bytes: Uint8Array): Json {
  try {
    const { value } = parseJson(bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw undecodable(`couldn't get version/kind; json parse error: ${error.message}`);
  }
  throw undecodable("couldn't get version/kind; an object was expected");
}

function textIn(value: Json, name: string): string {
  const text = value[name] ?? "";
  if (typeof text !== "string") throw undecodable(`${name} must be a string`);
  return text;
}

const malformed = (why: string): ConversionFault =>
  new ConversionFault(
    "conversion_webhook_malformed_response_failure",
    `failed: ${truncateBytes(why, maxMessageBytes)}`,
  );
/** Upstream counts an answer that cannot be decoded as a failed call. */
const undecodable = (why: string): ConversionFault =>
  new ConversionFault("conversion_webhook_call_failure", `failed: ${truncateBytes(why, maxMessageBytes)}`);
