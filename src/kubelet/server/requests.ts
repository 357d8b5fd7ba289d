import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, StatusError } from "#api/status.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { KubeletHandle, PodRef } from "./handle.ts";

/** What every route is given. */
export interface NodeRequest {
  readonly handle: KubeletHandle;
  readonly clock: Clock;
  readonly log: Log;
  readonly message: IncomingMessage;
  /** The decoded segments of the path. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  /** Fires when the client disconnects. */
  readonly signal: AbortSignal;
}

export type Route = (request: NodeRequest, response: ServerResponse) => void | Promise<void>;
export interface Upgrading {
  readonly socket: Duplex;
  readonly head: Buffer;
}
export type UpgradeRoute = (request: NodeRequest, connection: Upgrading) => Promise<void>;

/** Parses `…/NAMESPACE/POD` or `…/NAMESPACE/POD/UID`, and then the container if there is one. */
export function podOf({ path }: NodeRequest): PodRef {
  const ref = readRef(path);
  if (!ref) throw badRequest("the path must name a namespace and a pod");
  return ref;
}

/** The same with a container at the end. */
export function containerOf({ path }: NodeRequest): { ref: PodRef; container: string } {
  const container = path.length > 3 ? path.at(-1) : undefined;
  const ref = readRef(path.slice(0, -1));
  if (!ref || !container) throw badRequest("the path must name a namespace, a pod and a container");
  return { ref, container };
}

function readRef([, namespace, name, uid, ...rest]: readonly string[]): PodRef | undefined {
  if (!namespace || !name || rest.length > 0) return undefined;
  return { namespace, name, ...(uid ? { uid } : {}) };
}

export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw badRequest(`${name} must be a whole number`);
  return value;
}

/** Errors are plain text, as the API server expects from a kubelet. */
export function refuse(response: ServerResponse, error: unknown, otherwise: number): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, text } = refusal(error, otherwise);
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
}

export function refusal(error: unknown, otherwise: number): { status: number; text: string } {
  const text = messageOf(error);
  return { status: error instanceof StatusError ? error.code : otherwise, text };
}
