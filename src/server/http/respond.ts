import {
  type Encoded,
  type EventBatch,
  type ListFacts,
  type WatchEventType,
  type WatchLoad,
  type WatchSink,
} from "#api/exchange.ts";
import { ListMeta, MetadataField } from "#api/meta/object-meta.ts";
import { Status } from "#api/meta/status-kind.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { internalError, notAcceptable, StatusError, tooManyRequests } from "#api/status.ts";
import { initialEventsEndAnnotation } from "#api/well-known.ts";
import { formatYaml, YamlError } from "#lib/yaml/yaml.ts";
import { YamlBusyError } from "#lib/yaml/yaml-pool.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";
import { encodeEnvelope, encodeListEnvelope, encodeWatchFrame } from "#schema/protobuf/protobuf-envelope.ts";
import { type ObjectSchema, object } from "#schema/schema.ts";
import { type Answer, type DeferredList } from "#server/request/pipeline.ts";
import {
  type IncludeObject,
  type MetaVersion,
  partialMetadata,
  renderTable,
  tableRows,
} from "#server/request/table.ts";
import { type Trace, traceparent } from "#trace/trace.ts";
import { joinedItems, withoutType } from "./list-bodies.ts";
import { inSlices, inTurn, type SliceOptions } from "./list-slices.ts";
import { type Negotiated } from "./negotiate.ts";

/** A response to send: bytes, or a source that continues to produce them. */
export type Wire =
  | {
      readonly type: "body";
      readonly status: number;
      readonly contentType: string;
      readonly chunks: readonly Uint8Array[];
      readonly headers?: Record<string, string | string[]>;
    }
  | { readonly type: "watch"; readonly contentType: string; start(writer: WatchWriter): () => void }
  | Extract<Answer, { type: "stream" | "upgrade" }>;

export interface WatchWriter {
  write(bytes: Uint8Array): void;
  /** Depends on what was written and not yet read by the peer. */
  readonly load: WatchLoad;
  /** Calls back once when the peer has read what was written. */
  onIdle(wake: () => void): void;
  /** Ends it after pending writes. */
  end(): void;
}

export interface RenderOptions extends SliceOptions {
  readonly negotiated: Negotiated;
  readonly include: IncludeObject;
  readonly now: () => number;
  /** The user: long lists and long YAML of one user do not delay those of others. */
  readonly owner: string;
  /** For watchers that request the trace of each event. */
  traceOf?(revision: number): Trace | undefined;
}

const contentTypes = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
} as const;

export function render(answer: Answer, options: RenderOptions): Wire | Promise<Wire> {
  switch (answer.type) {
    case "object":
      return renderObject(answer, options);
    case "list":
      return renderList(answer, options);
    case "deferred":
      return renderDeferred(answer, options);
    case "watch":
      return renderWatch(answer, options);
    case "value":
      if (options.negotiated.as && !options.negotiated.plainToo) throw notTransformable();
      return renderValue(answer, options);
    case "bytes":
      return { ...answer, type: "body", chunks: [answer.body] };
    default:
      return answer;
  }
}

const notTransformable = (): StatusError =>
  notAcceptable(
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  );

type ObjectAnswer = Extract<Answer, { type: "object" }>;

function renderObject({ status, resource, encoded }: ObjectAnswer, options: RenderOptions): Wire | Promise<Wire> {
  const { encoding, as, asVersion: apiVersion } = options.negotiated;
  if (!as && encoding === "json") return body(status, "json", encoded.json());
  if (!as && encoding === "protobuf") return body(status, "protobuf", envelope(resource, encoded.protobuf()));
  if (as === "PartialObjectMetadataList") {
    throw notAcceptable(`you requested PartialObjectMetadataList, but the requested object is not a list`);
  }
  if (as === "Table") {
    const metadata = { resourceVersion: encoded.object.metadata.resourceVersion };
    const rows = { metadata, include: options.include, now: options.now(), apiVersion };
    return renderValue({ type: "value", status, value: renderTable(resource, [encoded.object], rows) }, options);
  }
  const value = as ? partialMetadata(encoded.object, apiVersion) : encoded.object;
  return renderValue({ type: "value", status, value, schema: as ? PartialObjectMetadata : resource.schema }, options);
}

type ListAnswer = Extract<Answer, { type: "list" }>;

/** Columns of custom kinds may search the whole object, which takes up to about a millisecond. */
const sliceOfCustomRows = 16;

function renderList(answer: ListAnswer, options: RenderOptions): Wire | Promise<Wire> {
  const { resource, items, list } = answer;
  const { encoding, as, asVersion: apiVersion } = options.negotiated;
  const metadata = listMetadata(list);
  if (encoding === "yaml")
    return renderValue({ type: "value", status: 200, value: listValue(answer, options) }, options);
  if (as === "Table") {
    const rows = { include: options.include, now: options.now(), apiVersion };
    const head = renderTable(resource, [], { metadata, ...rows });
    const make = (slice: readonly Encoded[]) => tableRows(resource, slice.map(objectOf), rows);
    const mostItems = resource.isJsonOnly ? sliceOfCustomRows : undefined;
    return longList(items, { head: { ...head, rows: undefined }, member: "rows", make }, { ...options, mostItems });
  }
  if (encoding === "protobuf") return listMessage(answer, options);
  if (as) {
    const make = (slice: readonly Encoded[]) => slice.map(({ object }) => partialMetadata(object, apiVersion));
    return longList(items, { head: { ...partialListKind(apiVersion), metadata }, member: "items", make }, options);
  }
  const start = `${JSON.stringify({ ...listKindOf(resource), metadata }).slice(0, -1)},"items":[`;
  const chunks = [Buffer.from(start), joinedItems(resource, items, answer.shared), Buffer.from("]}\n")];
  return { type: "body", status: 200, contentType: contentTypes.json, chunks };
}

async function renderDeferred({ read }: DeferredList, options: RenderOptions): Promise<Wire> {
  // YAML has turns of its own, and nobody else waits for them.
  if (options.negotiated.encoding === "yaml") return await renderList(await inTurn(read, options), options);
  return await inTurn(async () => await renderList(await read(), { ...options, hasTurn: true }), options);
}

/** Built in one step, because YAML has its own limit and is written in another thread. */
function listValue({ resource, items, list }: ListAnswer, { negotiated, include, now }: RenderOptions): object {
  const metadata = listMetadata(list);
  const objects = items.map(objectOf);
  const { as, asVersion: apiVersion } = negotiated;
  if (as === "Table") return renderTable(resource, objects, { metadata, include, now: now(), apiVersion });
  if (as) {
    const partial = objects.map((object) => partialMetadata(object, apiVersion));
    return { ...partialListKind(apiVersion), metadata, items: partial };
  }
  return { ...listKindOf(resource), metadata, items: objects.map((object) => withoutType(resource, object)) };
}

interface LongList {
  readonly head: object;
  /** The member that holds the results of `make`. */
  readonly member: string;
  make(slice: readonly Encoded[]): readonly unknown[];
}

/** The JSON of a list whose items must be made. */
async function longList(
  items: readonly Encoded[],
  { head, member, make }: LongList,
  options: RenderOptions & Pick<SliceOptions, "mostItems">,
): Promise<Wire> {
  const slices = await inSlices(items, (slice) => Buffer.from(JSON.stringify(make(slice)).slice(1, -1)), options);
  const chunks: Uint8Array[] = [Buffer.from(`${JSON.stringify(head).slice(0, -1)},"${member}":[`)];
  for (const [n, slice] of slices.entries()) chunks.push(...(n > 0 ? [comma, slice] : [slice]));
  chunks.push(listEnd);
  return { type: "body", status: 200, contentType: contentTypes.json, chunks };
}
const comma = Buffer.from(",");
const listEnd = Buffer.from("]}");

async function listMessage({ resource, items, list }: ListAnswer, options: RenderOptions): Promise<Wire> {
  const meta = encodeProtobuf(ListMeta, listMetadata(list));
  const { as, asVersion } = options.negotiated;
  const { apiVersion, kind } = as ? partialListKind(asVersion) : listKindOf(resource);
  const messageOf = (encoded: Encoded): Uint8Array =>
    as ? encodeProtobuf(PartialObjectMetadata, partialMetadata(encoded.object, asVersion)) : encoded.protobuf();
  const slices = await inSlices(items, (slice) => slice.map(messageOf), options);
  return body(200, "protobuf", encodeListEnvelope(apiVersion, kind, meta, slices.flat()));
}

/** Lists of what is not stored have no version. */
const listMetadata = ({ resourceVersion, continue: token, remainingItemCount }: ListFacts) => ({
  ...(resourceVersion ? { resourceVersion } : {}),
  ...(token ? { continue: token } : {}),
  ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
});

type ValueAnswer = Extract<Answer, { type: "value" }>;

async function renderValue({ status, value, schema }: ValueAnswer, options: RenderOptions): Promise<Wire> {
  const { negotiated, owner } = options;
  if (negotiated.encoding === "yaml") return body(status, "yaml", Buffer.from(await yamlOf(plainValue(value), owner)));
  if (negotiated.encoding === "protobuf") {
    const plain = plainValue(value) as { kind?: string; apiVersion?: string };
    const known = schema ?? (plain.kind === "Status" ? Status : undefined);
    if (known)
      return body(
        status,
        "protobuf",
        encodeEnvelope(plain.apiVersion ?? "", plain.kind ?? "", encodeProtobuf(known, plain)),
      );
    if (status >= 300) throw notAcceptable("this response has no protobuf form");
  }
  return body(status, "json", Buffer.from(JSON.stringify(value)));
}

async function yamlOf(value: unknown, owner: string): Promise<string> {
  try {
    return await formatYaml(value, owner);
  } catch (error) {
    if (error instanceof YamlBusyError) throw tooManyRequests(error.message);
    if (error instanceof YamlError) throw notAcceptable("this response is too long for YAML: ask for JSON");
    throw error;
  }
}

/** Errors render themselves. */
const plainValue = (value: unknown): unknown => (value instanceof StatusError ? value.toJSON() : value);

const body = (status: number, encoding: keyof typeof contentTypes, bytes: Uint8Array): Wire => ({
  type: "body",
  status,
  contentType: contentTypes[encoding],
  chunks: [bytes],
});

const envelope = (resource: Pick<Resource, "group" | "version" | "kind">, message: Uint8Array): Uint8Array =>
  encodeEnvelope(apiVersionOf(resource), resource.kind, message);

export const PartialObjectMetadata: ObjectSchema = object("meta/v1.PartialObjectMetadata", "", {
  metadata: MetadataField,
});

type WatchAnswer = Extract<Answer, { type: "watch" }>;

function renderWatch({ resource, start }: WatchAnswer, options: RenderOptions): Wire {
  const { encoding, as, asVersion } = options.negotiated;
  if (encoding === "yaml") {
    throw notAcceptable(
      "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    );
  }
  const frames = frameEncoder(resource, options);
  const name = `${encoding};${as ?? ""};${asVersion};${options.include}${options.traceOf ? ";traces" : ""}`;
  const contentType = encoding === "protobuf" ? "application/vnd.kubernetes.protobuf;stream=watch" : contentTypes.json;
  return { type: "watch", contentType, start: (writer) => start(new FrameSink(writer, name, frames)) };
}

/** Sends events as frames to one watcher. */
class FrameSink implements WatchSink {
  readonly #writer: WatchWriter;
  readonly #name: string;
  readonly #frames: FrameEncoder;

  /** Watchers whose encoding has the same name share bytes. */
  constructor(writer: WatchWriter, name: string, frames: FrameEncoder) {
    this.#writer = writer;
    this.#name = name;
    this.#frames = frames;
  }

  get load(): WatchLoad {
    return this.#writer.load;
  }
  onIdle(wake: () => void): void {
    this.#writer.onIdle(wake);
  }
  event(type: WatchEventType, encoded: Encoded): void {
    this.#writer.write(this.#frames.event(type, encoded));
  }
  batch(batch: EventBatch): void {
    this.#writer.write(batch.bytes(this.#name, () => joinFrames(batch, this.#frames)));
  }
  bookmark(revision: number, isInitialEnd: boolean): void {
    this.#writer.write(this.#frames.bookmark(bookmarkMeta(revision, isInitialEnd)));
  }
  end(error?: Error): void {
    if (error) this.#writer.write(this.#frames.error(error instanceof StatusError ? error : internalError(error)));
    this.#writer.end();
  }
}

interface FrameEncoder {
  event(type: WatchEventType, encoded: Encoded): Uint8Array;
  bookmark(metadata: BookmarkMeta): Uint8Array;
  error(error: StatusError): Uint8Array;
}

function joinFrames(batch: EventBatch, frames: FrameEncoder): Uint8Array {
  const [first] = batch.events;
  if (first && batch.events.length === 1) return frames.event(first.type, first.encoded);
  return Buffer.concat(batch.events.map(({ type, encoded }) => frames.event(type, encoded)));
}

function frameEncoder(resource: Resource, { negotiated, include, now, traceOf }: RenderOptions): FrameEncoder {
  const { encoding, as, asVersion: apiVersion } = negotiated;
  if (encoding === "protobuf") return protobufFrames(resource, as && apiVersion);
  const line = (type: string, value: unknown): Uint8Array =>
    Buffer.from(`${JSON.stringify({ type, object: value })}\n`);
  return {
    event(type, encoded) {
      if (!as) return jsonFrame(type, encoded.json(), traceOf?.(encoded.revision));
      if (as !== "Table") return line(type, partialMetadata(encoded.object, apiVersion));
      const metadata = { resourceVersion: encoded.object.metadata.resourceVersion };
      return line(type, renderTable(resource, [encoded.object], { metadata, include, now: now(), apiVersion }));
    },
    bookmark(metadata) {
      const value = { metadata, include, now: now(), apiVersion };
      if (as === "Table") return line("BOOKMARK", renderTable(resource, [], value));
      return line("BOOKMARK", { ...(as ? partialKind(apiVersion) : kindOf(resource)), metadata });
    },
    error: (error) => line("ERROR", error),
  };
}

const frameHeads = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};
const frameTail = Buffer.from("}\n");

const jsonFrame = (type: keyof typeof frameHeads, json: Uint8Array, trace: Trace | undefined): Uint8Array =>
  Buffer.concat([frameHeads[type], json, trace ? Buffer.from(`,"trace":"${traceparent(trace)}"}\n`) : frameTail]);

/** `partial`: the version of partial objects, if they are wanted. */
function protobufFrames(resource: Resource, partial: MetaVersion | undefined): FrameEncoder {
  return {
    event(type, encoded) {
      if (!partial) return encodeWatchFrame(type, envelope(resource, encoded.protobuf()));
      const { kind, apiVersion } = partialKind(partial);
      const message = encodeProtobuf(PartialObjectMetadata, partialMetadata(encoded.object, partial));
      return encodeWatchFrame(type, encodeEnvelope(apiVersion, kind, message));
    },
    bookmark(metadata) {
      const { kind, apiVersion } = partial ? partialKind(partial) : kindOf(resource);
      const message = encodeProtobuf(partial ? PartialObjectMetadata : resource.schema, { metadata });
      return encodeWatchFrame("BOOKMARK", encodeEnvelope(apiVersion, kind, message));
    },
    error(error) {
      const status = error.toJSON();
      return encodeWatchFrame("ERROR", encodeEnvelope("v1", "Status", encodeProtobuf(Status, status)));
    },
  };
}

type BookmarkMeta = ReturnType<typeof bookmarkMeta>;
const bookmarkMeta = (revision: number, isInitialEnd: boolean) => ({
  resourceVersion: String(revision),
  ...(isInitialEnd ? { annotations: { [initialEventsEndAnnotation]: "true" } } : {}),
});

const objectOf = (encoded: Encoded): ApiObject => encoded.object;
const listKindOf = (resource: Resource) => ({ kind: resource.listKind, apiVersion: apiVersionOf(resource) });
const partialListKind = (apiVersion: MetaVersion) => ({ kind: "PartialObjectMetadataList", apiVersion });
const kindOf = (resource: Resource) => ({ kind: resource.kind, apiVersion: apiVersionOf(resource) });
const partialKind = (apiVersion: MetaVersion) => ({ kind: "PartialObjectMetadata", apiVersion });
