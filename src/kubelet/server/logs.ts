import type { ServerResponse } from "node:http";
import { badRequest } from "#api/status.ts";
import { isSet } from "#lib/net/query-flag.ts";
import { drained } from "#lib/net/sockets.ts";
import type { ContainerLogOptions } from "./handle.ts";
import { containerOf, type NodeRequest, numberIn, refuse } from "./requests.ts";

/** How long to wait for the first bytes of a followed log before the headers are sent. */
const firstBytesMs = 100;

/** GET /containerLogs/NAMESPACE/POD/CONTAINER */
export async function containerLogs(request: NodeRequest, response: ServerResponse): Promise<void> {
  const { ref, container } = containerOf(request);
  const chunks = await openLog(request, () => request.handle.logs(ref, container, logOptions(request))).catch(
    (error: unknown) => {
      refuse(response, error, 400);
      return undefined;
    },
  );
  if (!chunks) return;
  const start = () => {
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/plain" }).flushHeaders();
  };
  const cancel = request.clock.after(firstBytesMs, start);
  try {
    for await (const chunk of chunks) {
      start();
      if (response.destroyed) return;
      if (chunk.length > 0 && !response.write(chunk)) await drained(response);
    }
    start();
    response.end();
  } catch (error) {
    if (request.signal.aborted) response.destroy();
    else refuse(response, error, 400);
  } finally {
    cancel();
  }
}

async function openLog<T>({ signal }: NodeRequest, open: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return await open();
}

function logOptions({ query, signal, clock }: NodeRequest): ContainerLogOptions {
  const tailLines = numberIn(query, "tailLines");
  const limitBytes = numberIn(query, "limitBytes");
  const sinceMs = sinceOf(query, clock.now());
  const stream = streams[query.get("stream") ?? "All"];
  if (stream === undefined) throw badRequest(`invalid stream type ${JSON.stringify(query.get("stream"))}`);
  return {
    follow: isSet(query, "follow"),
    previous: isSet(query, "previous"),
    timestamps: isSet(query, "timestamps"),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(stream === "all" ? {} : { stream }),
    signal,
  };
}
const streams: Readonly<Record<string, "all" | "stdout" | "stderr">> = {
  All: "all",
  Stdout: "stdout",
  Stderr: "stderr",
};

function sinceOf(query: URLSearchParams, now: number): number | undefined {
  const seconds = numberIn(query, "sinceSeconds");
  if (seconds !== undefined) return now - seconds * 1000;
  const time = query.get("sinceTime");
  if (!time) return undefined;
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw badRequest(`sinceTime ${JSON.stringify(time)} is not a time`);
  return ms;
}
