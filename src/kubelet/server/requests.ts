import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, StatusError } from "#api/status.ts";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { messageOf } from "#lib/message-of.ts";
import type { KubeletHandle, PodRef } from "./handle.ts";

/** What every route is given. */
export interface NodeRequest {
  readonly handle: KubeletHandle;
  readonly clock: Clock;
  readonly log: Log;
  readonly message: IncomingMessage;
  /** The segments of the path, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  /** Fires when the asker has left. */
  readonly signal: AbortSignal;
}

export type Route = (request: NodeRequest, response: ServerResponse) => void | Promise<void>;
export interface Upgrading {
  readonly socket: Duplex;
  readonly head: Buffer;
}
export type UpgradeRoute = (request: NodeRequest, connection: Upgrading) => Promise<void>;

/** `…/NAMESPACE/POD` or `…/NAMESPACE/POD/UID`, and then the container where there is one. */
export function podOf({ path }: NodeRequest, hasContainer: boolean): { ref: PodRef; container: string } {
  const [, namespace = "", name = "", ...rest] = path;
  const container = hasContainer ? (rest.pop() ?? "") : "";
  const [uid] = rest;
  if (!namespace || !name || (hasContainer && !container) || rest.length > 1) {
    throw badRequest(`the path must name a namespace, a pod${hasContainer ? " and a container" : ""}`);
  }
  return { ref: { namespace, name, ...(uid ? { uid } : {}) }, container };
}

export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw badRequest(`${name} must be a whole number`);
  return value;
}

/** Errors are plain text here, as the API server expects them of a node. */
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
