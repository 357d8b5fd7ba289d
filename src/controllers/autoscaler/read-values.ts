import { statusErrorFrom } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { isObject } from "#lib/data/json-object.ts";
import { own } from "#lib/data/own.ts";
import { milliValue } from "./milli-value.ts";

/** The value of a metric, as an adapter answers with it. */
export interface MetricValue {
  /** The name of the object that it is about; "" for external metrics. */
  readonly object: string;
  readonly value: bigint;
  readonly atMs: number;
  readonly windowMs: number;
}

interface Place {
  readonly group: string;
  readonly version: string;
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** An adapter is another program: what it sends is bounded, and every value is checked. */
const maxBytes = 8 << 20;
const defaultWindowMs = 60_000;

export async function readValues(client: Client, place: Place, signal: AbortSignal): Promise<readonly MetricValue[]> {
  return (await readItems(client, place, signal)).map(metricValueOf);
}

/** Reads a list through the API server, whoever serves it; throws what that one says. */
export async function readItems(client: Client, place: Place, signal: AbortSignal): Promise<readonly unknown[]> {
  const { group, version, path, query } = place;
  const url = `/apis/${group}/${version}/${path.map(encodeURIComponent).join("/")}`;
  const { status, body, value } = await client.stream("GET", `${url}?${new URLSearchParams(query)}`, { signal });
  const answer = value ?? parse(await readAll(body));
  if (status !== 200) throw refusal(answer, status, `${path.at(-1)}.${group}`);
  const items = isObject(answer) ? own(answer, "items") : undefined;
  if (!Array.isArray(items)) throw new Error(`the answer of ${group} is not a list`);
  return items;
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A path that nobody serves is described like upstream's client does; other refusals have a text of their own. */
function refusal(answer: unknown, code: number, resource: string): Error {
  const missing = "the server could not find the requested resource";
  const message = isObject(answer) ? own(answer, "message") : undefined;
  const isNobody = code === 404 && (typeof message !== "string" || message === missing);
  return statusErrorFrom({
    code,
    message: isNobody ? `${missing} (get ${resource})` : String(message ?? "no message"),
  });
}

function metricValueOf(item: unknown): MetricValue {
  const value = isObject(item) ? own(item, "value") : undefined;
  if (!isObject(item) || (typeof value !== "string" && typeof value !== "number")) {
    throw new Error("a metric value has no value");
  }
  const described = own(item, "describedObject");
  const name = isObject(described) ? own(described, "name") : "";
  // v1beta1 has a shorter name for it.
  const seconds = own(item, "windowSeconds") ?? own(item, "window");
  return {
    object: typeof name === "string" ? name : "",
    value: milliValue(String(value)),
    atMs: Date.parse(String(own(item, "timestamp") ?? "")) || 0,
    windowMs: typeof seconds === "number" ? seconds * 1000 : defaultWindowMs,
  };
}
