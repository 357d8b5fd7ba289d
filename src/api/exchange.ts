import { type Duplex, type Readable } from "node:stream";
import { type ObjectSchema } from "#schema/schema.ts";
import { type ApiObject, type Resource } from "./resource.ts";

/** A request to the API server, the same for a socket and for a caller in this process. */
export interface ApiRequest {
  readonly method: string;
  /** Path with no query, percent-encoding still in it. */
  readonly path: string;
  /** What follows the question mark; "" if nothing does. */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, as they were sent. Only what comes over a socket has them. */
  readonly rawHeaders?: readonly string[] | undefined;
  /** Body bytes, whole, decompressed, within the size limit. What comes over a socket has none before `admit`. */
  readonly body: Uint8Array | undefined;
  /** The body as it arrives, as it was sent, if it was admitted with `streams`. It can be read once. */
  readonly bodyStream?: Readable | undefined;
  /** An in-process caller hands over the object itself instead of bytes. The server may keep and change it. */
  readonly object?: unknown;
  readonly signal: AbortSignal;
  readonly peer: Peer;
  /**
   * Called when the user is known and authorized: counts the request and reads the body. Throws if the caller
   * has too many requests in flight. undefined: there is nothing to wait for.
   */
  admit?(user: UserInfo, options: AdmitOptions): Promise<void> | undefined;
  /**
   * Called before an answer is built. A client that does not read its answers waits here; undefined: go on. Throws if
   * the client is gone.
   */
  room?(): Promise<void> | undefined;
  /** Called when the answer is a watch. Throws if the caller has too many. */
  countWatch?(): void;
  /** Called when the request has taken too long: fires its signal. */
  expire?(): void;
}

export interface AdmitOptions {
  /** The body is passed on as it is, and not decoded here. */
  readonly passesOn: boolean;
  /** Nor is it received here: whoever answers the request reads it as it arrives. */
  readonly streams?: boolean;
}

/** Who is at the other end of the connection. */
export interface Peer {
  readonly address: string;
  /** Verified client certificate, if one was shown. */
  readonly certificate?: {
    readonly commonName: string;
    readonly organizations: readonly string[];
    /** SHA-256 of the certificate, in hexadecimal. */
    readonly fingerprint?: string;
    /** The connection is closed when the certificate expires. */
    readonly notAfterMs?: number;
  };
  /** The verified certificate of a front proxy, which may say who its caller is. */
  readonly frontProxy?: { readonly commonName: string; readonly notAfterMs: number };
  /** Why the client certificate that was shown is not to be trusted. */
  readonly certificateFault?: string;
  /** In-process callers are who the process says they are. */
  readonly user?: UserInfo;
}

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** One version of one object: the value, and its bytes, each made at most once. */
export interface Encoded<T extends ApiObject = ApiObject> {
  readonly object: T;
  readonly revision: number;
  /** How much memory it takes while it is referenced. Known without encoding it. */
  readonly storedBytes: number;
  json(): Uint8Array;
  protobuf(): Uint8Array;
}

/** The answer of an endpoint. It is encoded only if the caller is in another process. */
export type Answer =
  | { readonly type: "object"; readonly status: number; readonly resource: Resource; readonly encoded: Encoded }
  | {
      readonly type: "list";
      readonly resource: Resource;
      readonly items: readonly Encoded[];
      readonly list: ListFacts;
      /** The items are all of a namespace as of this version of it: the joined bytes may be used again. */
      readonly shared?: { readonly owner: object; readonly key: string; readonly version: number };
    }
  | { readonly type: "watch"; readonly resource: Resource; start(sink: WatchSink): () => void }
  /** Anything that is not a stored object: Status, reviews, discovery, tables. */
  | { readonly type: "value"; readonly status: number; readonly value: unknown; readonly schema?: ObjectSchema }
  | {
      readonly type: "bytes";
      readonly status: number;
      readonly contentType: string;
      readonly body: Uint8Array;
      readonly headers?: Record<string, string | string[]>;
    }
  /** Log streams and proxied bodies. */
  | {
      readonly type: "stream";
      readonly status: number;
      readonly contentType: string;
      readonly body: AsyncIterable<Uint8Array>;
      readonly headers?: Record<string, string | string[]>;
    }
  /** The connection itself is handed over (exec, attach, port-forward). */
  | { readonly type: "upgrade"; accept(connection: UpgradeConnection): void };

export interface ListFacts {
  readonly resourceVersion: string;
  readonly continue: string;
  readonly remainingItemCount: number | undefined;
}

/**
 * How much a watcher has yet to read. `idle`: it is ready for more. `busy`: it has something to read, but what comes now
 * still fits. `full`: it gets nothing until it is idle.
 */
export type WatchLoad = "idle" | "busy" | "full";

/** Where watch events go. */
export interface WatchSink {
  /** A server leaves a sink alone while it is full, and sends what is not urgent when it is idle. */
  readonly load: WatchLoad;
  /** Calls back, once, when the sink is idle. */
  onIdle(wake: () => void): void;
  /** An object that stops matching the selector is sent as DELETED, in its last state that matched. */
  event(type: WatchEventType, encoded: Encoded): void;
  /** Several events at once, whose bytes watchers share. If it is there, it is called instead of `event`. */
  batch?(batch: EventBatch): void;
  bookmark(revision: number, initialEventsEnd: boolean): void;
  /** Ends the watch with a Status event, or quietly. */
  end(error?: Error): void;
}
export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED";

export interface UpgradeConnection {
  readonly socket: Duplex;
  readonly head: Uint8Array;
}

export interface EventBatch {
  readonly events: readonly { readonly type: WatchEventType; readonly encoded: Encoded }[];
  readonly revision: number;
  /** The bytes under this name, made by the first watcher that asks. */
  bytes(encoding: string, make: () => Uint8Array): Uint8Array;
}
