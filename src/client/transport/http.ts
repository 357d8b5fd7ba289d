import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { type Reason, StatusError, serviceUnavailable, statusErrorFrom } from "#api/status.ts";
import { type Credentials, createCredentials } from "#client/kubeconfig/credentials.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { currentTrace, traceparent } from "#trace/trace.ts";
import { type Client, type RawOptions, type WatchEvent } from "../client.ts";
import { type ClientConfig } from "../client-config.ts";
import { type ApiCall, clientOver } from "../requests.ts";
import { createTransport } from "./transport.ts";
import { LineSplitter, parseWatchEvent } from "./watch-lines.ts";
import { type Transport, WireError, type WireRequest, type WireResponse } from "./wire.ts";

export interface HttpDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The environment of credential programs. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly interactive?: boolean;
  /** Receives the server's warnings; default: the log. */
  onWarning?(text: string): void;
}

/** A Client over HTTP/2 or HTTP/1.1. It must be disposed of, because its connections keep the process alive. */
export function httpClient(config: ClientConfig, deps: HttpDeps): Client & AsyncDisposable {
  const wire = new Wire(config, deps);
  const client = clientOver({
    async call(call, resource, signal) {
      const body = await wire.exchange(requestOf(call), signal, readBody);
      return withTypes(parseJson(body), resource);
    },
    watch: (call, _resource, signal) => wire.watch(requestOf(call), signal),
    raw: (method, path, options) =>
      wire.exchange(rawRequest(method, path, options), options.signal, async (response) => ({
        status: response.status,
        headers: response.headers,
        body: await bodyOf(response),
      })),
    async stream(method, path, options) {
      const signal = options.signal ?? new AbortController().signal;
      const { status, headers, body } = await wire.send(rawRequest(method, path, options), signal);
      return { status, headers, body: chunks(body, signal) };
    },
  });
  return { ...client, [Symbol.asyncDispose]: async () => wire.close() };
}

type Draft = Omit<WireRequest, "signal">;

const requestOf = ({ method, path, query, contentType, body }: ApiCall): Draft => ({
  method,
  path: query ? `${path}?${query}` : path,
  headers: contentType ? { "content-type": contentType } : {},
  body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
});

const rawRequest = (method: string, path: string, { headers = {}, body }: RawOptions): Draft => ({
  method,
  path,
  headers: { accept: "application/json, */*", ...headers },
  body,
});

const defaultTimeoutMs = 70_000;
const maxRetries = 10;

/** Sends requests with identity, trace, timeout, and the retries that are safe. */
class Wire {
  readonly #transport: Transport;
  readonly #credentials: Credentials;
  readonly #config: ClientConfig;
  readonly #deps: HttpDeps;
  readonly #prefix: string;

  constructor(config: ClientConfig, deps: HttpDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#credentials = createCredentials(config, deps);
    this.#transport = createTransport(config, this.#credentials, deps.clock);
    this.#prefix = new URL(config.server).pathname.replace(/\/$/, "");
  }
  close(): void {
    this.#transport.close();
  }

  /** A complete request and response within the timeout. */
  async exchange<A>(
    draft: Draft,
    signal: AbortSignal | undefined,
    read: (response: WireResponse) => Promise<A>,
  ): Promise<A> {
    const { timeoutMs = defaultTimeoutMs } = this.#config;
    const limit = new AbortController();
    const pass = () => limit.abort(signal?.reason);
    if (signal?.aborted) throw signal.reason;
    signal?.addEventListener("abort", pass, { once: true });
    const cancel = this.#deps.clock.after(timeoutMs, () =>
      limit.abort(new StatusError("Timeout", `no answer to ${draft.method} ${draft.path} within ${timeoutMs} ms`)),
    );
    try {
      return await this.#readAgain(draft, limit.signal, read);
    } finally {
      cancel();
      signal?.removeEventListener("abort", pass);
    }
  }

  /** Repeats a request whose response breaks off, if it changes nothing. */
  async #readAgain<A>(draft: Draft, signal: AbortSignal, read: (response: WireResponse) => Promise<A>): Promise<A> {
    for (let broken = 1; ; broken++) {
      const response = await this.send(draft, signal);
      try {
        return await read(response);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof StatusError) throw error;
        if (draft.method !== "GET" || broken >= 3) throw lost(draft, error);
      }
    }
  }

  async *watch(draft: Draft, signal: AbortSignal): AsyncGenerator<WatchEvent<ApiObject>> {
    try {
      const response = await this.send({ ...draft, headers: { ...draft.headers, ...askForTraces } }, signal);
      if (response.status !== 200) throw errorOf(response.status, await bodyOf(response));
      const lines = new LineSplitter();
      for await (const chunk of chunks(response.body, signal)) {
        for (const line of lines.push(chunk)) {
          const event = parseWatchEvent(line);
          if (event) yield event;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      throw error instanceof StatusError ? error : lost(draft, error);
    }
  }

  /** Resolves with the head of the response, whatever its status, after the retries that are safe. */
  async send(draft: Draft, signal: AbortSignal): Promise<WireResponse> {
    let refusedOnce = false;
    for (let attempt = 1; ; attempt++) {
      const response = await this.#attempt(draft, signal).catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof WireError)) throw error;
        if (attempt > 3 || !mayRepeat(draft, error)) throw lost(draft, error);
        return undefined;
      });
      if (!response) {
        await this.#deps.clock.sleep(backoffMs(attempt, { baseMs: 10, maxMs: 1000, factor: 5 }), signal);
      } else if (response.status === 401 && !refusedOnce && this.#credentials.refused()) {
        refusedOnce = true;
        response.body.resume();
      } else {
        const pauseMs = retryAfterMs(draft, response);
        if (pauseMs === undefined || attempt > maxRetries) return response;
        response.body.resume();
        await this.#deps.clock.sleep(pauseMs, signal);
      }
    }
  }

  async #attempt(draft: Draft, signal: AbortSignal): Promise<WireResponse> {
    const trace = currentTrace.getStore();
    const headers = {
      accept: "application/json",
      "user-agent": this.#config.userAgent ?? "orlop",
      ...(this.#config.compress ? { "accept-encoding": "gzip" } : {}),
      ...(trace ? { traceparent: traceparent(trace) } : {}),
      ...draft.headers,
      ...(await this.#credentials.headers()),
    };
    const response = await this.#transport.send({ ...draft, path: this.#prefix + draft.path, headers, signal });
    this.#warn(response.headers.warning);
    return response;
  }

  /** `299 - "text"`; several are separated by commas. */
  #warn(header: string | undefined): void {
    for (const [, text = ""] of header?.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g) ?? []) {
      const warning = text.replaceAll(/\\(.)/g, "$1");
      if (this.#deps.onWarning) this.#deps.onWarning(warning);
      else this.#deps.log.warn("warning from the server", { warning });
    }
  }
}

/** Makes our own server add its trace to every event; others ignore the header. */
const askForTraces = { "x-orlop-traces": "1" };

const readOnly = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS";

/** A request that the server has not processed may always be sent again; a lost one only if it changes nothing. */
const mayRepeat = ({ method }: Draft, { kind }: WireError): boolean =>
  kind === "refused" || (kind === "lost" && readOnly(method));

function retryAfterMs({ method }: Draft, { status, headers }: WireResponse): number | undefined {
  if (status !== 429 && !(status === 503 && readOnly(method))) return undefined;
  const seconds = Number.parseInt(headers["retry-after"] ?? "", 10);
  return Number.isNaN(seconds) ? undefined : seconds * 1000;
}

function lost({ method, path }: Draft, cause: unknown): StatusError {
  const why = messageOf(cause);
  return serviceUnavailable(`${method} ${path} got no answer from the server: ${why}`, { cause });
}

async function* chunks(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function bodyOf({ headers, body }: WireResponse): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of body as AsyncIterable<Uint8Array>) parts.push(chunk);
  const whole = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  return headers["content-encoding"] === "gzip" ? await promisify(gunzip)(whole) : whole;
}

async function readBody(response: WireResponse): Promise<Uint8Array> {
  const body = await bodyOf(response);
  if (response.status >= 400) throw errorOf(response.status, body);
  return body;
}

function parseJson(body: Uint8Array): unknown {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const start = JSON.stringify(text.slice(0, 80));
    throw new StatusError("InternalError", `the server's answer is not JSON: ${start}`, undefined, { cause });
  }
}

/** Servers omit the kind of list items, but cached objects should have it. */
function withTypes(answer: unknown, resource: Resource): unknown {
  if (typeof answer !== "object" || answer === null || !("items" in answer)) return answer;
  if (!Array.isArray(answer.items)) return { ...answer, items: [] };
  const apiVersion = apiVersionOf(resource);
  for (const item of answer.items as ApiObject[]) {
    item.kind ??= resource.kind;
    item.apiVersion ??= apiVersion;
  }
  return answer;
}

const reasons: Readonly<Record<number, Reason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** The Status that the server sent, or the closest equivalent of another response, such as a proxy's page. */
function errorOf(code: number, body: Uint8Array): StatusError {
  const text = Buffer.from(body).toString();
  try {
    const status = JSON.parse(text) as { kind?: string };
    if (status.kind === "Status") return statusErrorFrom({ code, ...status });
  } catch {
    // Not from an API server, so the text is all there is.
  }
  const words = text.trim().slice(0, 1000) || `the server answered with status ${code} and no message`;
  return statusErrorFrom({ code, message: words, reason: reasons[code] ?? "" });
}
