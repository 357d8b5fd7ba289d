import { type BackoffOptions, backoffMs } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { ClientConfig } from "../client-config.ts";
import { createCredentials } from "../kubeconfig/credentials.ts";
import { loadKubeconfig, resolveContext } from "../kubeconfig/kubeconfig.ts";
import { KubeconfigError } from "../kubeconfig/kubeconfig-file.ts";
import { createTransport } from "../transport/transport.ts";
import { type Exchanged, type ExchangeLimits, exchangeBounded } from "./bounded-exchange.ts";

/** A server that a kubeconfig file names, for reviews and audit events: its URL is where everything is posted. */
export interface Webhook extends Disposable {
  /** Posts a JSON document and resolves with the body of a successful answer. Fails with a WebhookError. */
  post(body: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
}

export interface WebhookDeps extends Partial<ExchangeLimits> {
  readonly clock: Clock;
  /** The environment of credential programs. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly retry?: WebhookRetry;
  /** The flag that names the file, for messages. */
  readonly flag?: string | undefined;
}

/** How often one document is sent, and the pauses in between. */
export interface WebhookRetry extends BackoffOptions {
  readonly attempts: number;
}

/** The server did not accept the document. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  /** The status of the answer; undefined if there was none. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

const defaultLimits: ExchangeLimits = { timeoutMs: 30_000, maxBytes: 1024 * 1024 };
const once: WebhookRetry = { attempts: 1, baseMs: 0, maxMs: 0 };

/** Reads the file now, so that a mistake in it is known at the start; connects when something is posted. */
export async function openWebhook(kubeconfigPath: string, deps: WebhookDeps): Promise<Webhook> {
  try {
    return createWebhook(await readWebhookConfig(kubeconfigPath), deps);
  } catch (error) {
    if (!(error instanceof KubeconfigError) || deps.flag === undefined) throw error;
    throw new KubeconfigError(`--${deps.flag}: ${error.message}`, { cause: error });
  }
}

/** The connection of the file's current context. Fails with a KubeconfigError that names the file. */
export async function readWebhookConfig(path: string): Promise<ClientConfig> {
  try {
    const kubeconfig = await loadKubeconfig({ path, env: {} });
    if (kubeconfig.clusters.size === 0 && kubeconfig.contexts.size === 0)
      throw new KubeconfigError(`${path}: clusters: Required value: names no server`);
    return (await resolveContext(kubeconfig)).config;
  } catch (error) {
    if (!(error instanceof KubeconfigError) || error.message.includes(path)) throw error;
    throw new KubeconfigError(`${path}: ${error.message}`, { cause: error });
  }
}

export function createWebhook(config: ClientConfig, deps: WebhookDeps): Webhook {
  const { clock, retry = once } = deps;
  const limits = { ...defaultLimits, ...deps };
  const url = new URL(config.server);
  const credentials = createCredentials(config, deps);
  const transport = createTransport(config, credentials, clock);

  const send = async (body: Uint8Array, signal: AbortSignal): Promise<Exchanged> => {
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": config.userAgent ?? "orlop",
      ...(await credentials.headers()),
    };
    const request = { method: "POST", path: url.pathname + url.search, headers, body };
    return await exchangeBounded(transport, request, { ...limits, signal });
  };
  /** A token that has expired is replaced at once. */
  const attempt = async (body: Uint8Array, signal: AbortSignal): Promise<Exchanged> => {
    const answer = await send(body, signal);
    return answer.status === 401 && credentials.refused() ? await send(body, signal) : answer;
  };
  return {
    async post(body, signal = neverAborted) {
      for (let tries = 1; ; tries++) {
        const outcome = await attempt(body, signal).then(judge, (cause: unknown) => lost(cause, signal));
        if (!(outcome instanceof WebhookError)) return outcome.body;
        if (tries >= retry.attempts || !mayRepeat(outcome)) throw named(url, outcome);
        await clock.sleep(backoffMs(tries, retry), signal);
      }
    },
    [Symbol.dispose]: () => transport.close(),
  };
}

function judge(answer: Exchanged): Exchanged | WebhookError {
  if (answer.status >= 200 && answer.status < 300) return answer;
  return new WebhookError(`answered with status ${answer.status}`, answer.status);
}

function lost(cause: unknown, signal: AbortSignal): WebhookError {
  if (signal.aborted) throw signal.reason;
  return new WebhookError(messageOf(cause), undefined, { cause });
}

/** A later attempt may succeed: there was no answer, or the server asks for another attempt. */
const mayRepeat = ({ status }: WebhookError): boolean => status === undefined || repeated.has(status);
const repeated = new Set([429, 500, 504]);

/** The address without its query, which may contain a secret. */
const named = ({ origin, pathname }: URL, { message, status, cause }: WebhookError): WebhookError =>
  new WebhookError(`the webhook ${origin}${pathname}: ${message}`, status, { cause });
