import { parse as parseYaml } from "yaml";
import { allResources } from "#api/all.ts";
import { Status } from "#api/meta/status-kind.ts";
import { apiVersionOf } from "#api/resource.ts";
import { decodeProtobuf } from "#schema/protobuf/protobuf-decode.ts";
import { decodeEnvelope } from "#schema/protobuf/protobuf-envelope.ts";
import { type Answer } from "./step.ts";

/** The body as a value that can be compared: an object, the lines of a watch, or text. */
export function decodeAnswer({ body, type }: Answer): unknown {
  if (type.startsWith("application/vnd.kubernetes.protobuf")) return fromProtobuf(body);
  const text = body.toString();
  if (type.startsWith("application/yaml")) return parseYaml(text) as unknown;
  if (!type.includes("json")) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text.trimEnd().split("\n").map(parseLine);
  }
}

function fromProtobuf(body: Buffer): unknown {
  const { apiVersion, kind, raw } = decodeEnvelope(body);
  const schema =
    kind === "Status"
      ? Status
      : allResources.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)?.schema;
  return {
    apiVersion,
    kind,
    ...(withoutZeros(schema ? decodeProtobuf(schema, raw) : { raw: Buffer.from(raw).toString() }) as object),
  };
}

const isZeroTime = (value: unknown): boolean => typeof value === "string" && /^0*1-01-01T00:00:00/.test(value);

/** Go writes texts and numbers that are not set, and JSON has none of them. */
function withoutZeros(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutZeros);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([, inner]) => inner !== undefined && inner !== "" && inner !== 0 && inner !== false && !isZeroTime(inner),
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutZeros(inner)]));
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return line;
  }
}
