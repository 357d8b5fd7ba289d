import http2 from "node:http2";
import { Status } from "#api/meta/status-kind.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";
import { decodeProtobuf } from "#schema/protobuf/protobuf-decode.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { credentialsOf, type RunningServer } from "./server.ts";

const protobuf = "application/vnd.kubernetes.protobuf";

/** The decoded answer, without its envelope. */
export interface Message {
  readonly status: number;
  readonly contentType: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly raw: Buffer;
}
export interface Frame {
  readonly type: string;
  readonly kind: string;
  readonly raw: Buffer;
}

/**
 * A client without JSON. It has its own framing, written from the specification of the wire format, so that our codec is
 * not only tested against itself.
 */
export class ProtobufClient implements AsyncDisposable {
  readonly #session: http2.ClientHttp2Session;

  constructor(server: RunningServer) {
    this.#session = http2.connect(server.url, credentialsOf(server));
  }

  async send(method: string, path: string, body?: Uint8Array, accept = protobuf): Promise<Message> {
    const stream = this.#request(method, path, body, accept);
    const { status, contentType } = await headersOf(stream);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return { status, contentType, ...unwrap(Buffer.concat(chunks)) };
  }

  /** Frames as they arrive; ends when the server ends the watch. */
  async *watch(path: string, accept = `${protobuf};type=watch`): AsyncGenerator<Frame> {
    const stream = this.#request("GET", path, undefined, accept);
    const { status, contentType } = await headersOf(stream);
    if (status !== 200 || !contentType.startsWith(protobuf)) throw new Error(`watch: ${status} ${contentType}`);
    let rest = Buffer.alloc(0);
    for await (const chunk of stream) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
        const end = 4 + rest.readUInt32BE(0);
        yield frameOf(rest.subarray(4, end));
        rest = rest.subarray(end);
      }
    }
  }

  #request(method: string, path: string, body: Uint8Array | undefined, accept: string): http2.ClientHttp2Stream {
    const headers = { ":method": method, ":path": path, accept, ...(body ? { "content-type": protobuf } : {}) };
    const stream = this.#session.request(headers, { endStream: body === undefined });
    if (body) stream.end(body);
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.destroy();
  }
}

function headersOf(stream: http2.ClientHttp2Stream): Promise<{ status: number; contentType: string }> {
  return new Promise((resolve, reject) => {
    stream.once("error", reject);
    stream.once("response", (headers) =>
      resolve({ status: Number(headers[":status"]), contentType: headers["content-type"] ?? "" }),
    );
  });
}

/** `k8s\0`, then Unknown{ typeMeta = 1 { apiVersion = 1, kind = 2 }, raw = 2 }. */
export function wrap(resource: Resource, object: object): Uint8Array {
  const raw = encodeProtobuf(resource.schema as ObjectSchema<unknown>, object);
  const typeMeta = Buffer.concat([field(1, Buffer.from(apiVersionOf(resource))), field(2, Buffer.from(resource.kind))]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), field(2, raw)]);
}

export function unwrap(body: Buffer): Pick<Message, "kind" | "apiVersion" | "raw"> {
  if (body.toString("latin1", 0, 4) !== "k8s\0") throw new Error(`no envelope: ${body.toString().slice(0, 200)}`);
  const fields = fieldsOf(body.subarray(4));
  const typeMeta = fieldsOf(fields.get(1)?.[0] ?? Buffer.alloc(0));
  const text = (tag: number): string => typeMeta.get(tag)?.[0]?.toString() ?? "";
  return { apiVersion: text(1), kind: text(2), raw: fields.get(2)?.[0] ?? Buffer.alloc(0) };
}

/** WatchEvent{ type = 1, object = 2 RawExtension{ raw = 1 } }. */
function frameOf(bytes: Buffer): Frame {
  const fields = fieldsOf(bytes);
  const raw = fieldsOf(fields.get(2)?.[0] ?? Buffer.alloc(0)).get(1)?.[0] ?? Buffer.alloc(0);
  return { type: fields.get(1)?.[0]?.toString() ?? "", ...unwrap(raw) };
}

/** List{ metadata = 1, items = 2 }. */
export function listOf(raw: Buffer): { readonly metadata: Buffer; readonly items: readonly Buffer[] } {
  const fields = fieldsOf(raw);
  return { metadata: fields.get(1)?.[0] ?? Buffer.alloc(0), items: fields.get(2) ?? [] };
}

export const readAs = <T>(schema: ObjectSchema<T>, raw: Uint8Array): T => decodeProtobuf(schema, raw) as T;
export const statusOf = ({ raw }: Pick<Message, "raw">) => readAs(Status as ObjectSchema<Status>, raw);

function field(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varint((tag << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** The length-delimited fields of a message, by number and in order. */
function fieldsOf(bytes: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const read = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("a number is cut off");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = read();
    const value = read();
    if ((key & 7) === 0) continue;
    if ((key & 7) !== 2) throw new Error(`a field of wire type ${key & 7} was not expected`);
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), bytes.subarray(at, at + value)]);
    at += value;
  }
  return fields;
}
