import { type PullPolicy, parseImageName } from "#api/core/container/image-name.ts";
import type { Secret } from "#api/core/secret.ts";
import type { ContainerRuntime, Image, RegistryAuth, SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { CredentialPlugins } from "./credential-plugins.ts";
import { credentialsFor } from "./credentials.ts";

export interface ImageRequest {
  readonly image: string;
  readonly policy: PullPolicy;
  readonly podUid: string;
  /** Those of the pod's `imagePullSecrets` that exist. */
  readonly secrets: readonly Secret[];
  readonly sandbox?: SandboxConfig;
  /** Called when a pull begins. */
  onPulling?(): void;
}
/** Reason and message are those of the container's status. */
export type ImageOutcome =
  | { readonly ok: true; readonly image: Image; readonly message: string }
  | { readonly ok: false; readonly reason: ImageFailure; readonly message: string; readonly retryAfterMs: number };
export type ImageFailure =
  | "ErrImagePull"
  | "ImagePullBackOff"
  | "ErrImageNeverPull"
  | "InvalidImageName"
  | "ImageInspectError"
  | "RegistryUnavailable";

export interface PullLimits {
  /** Pulls in a second; 0 for any number. */
  readonly perSecond: number;
  /** How many more at once. */
  readonly burst: number;
  /** How many at the same time; undefined for any number. */
  readonly atOnce: number | undefined;
}

export interface PullerOptions {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly limits?: PullLimits;
  /** Programs that know logins besides those of pull secrets. */
  readonly plugins?: Pick<CredentialPlugins, "logins"> | undefined;
}

interface Failure {
  readonly count: number;
  readonly until: number;
  readonly message: string;
}

/**
 * Makes sure that images are on the node. An image that several pods want is pulled once. A failed pull is retried after
 * 10 s, 20 s, … 5 min, separately for each pod.
 */
export class ImagePuller {
  readonly #runtime: ContainerRuntime;
  readonly #clock: Clock;
  readonly #pulls = new Map<string, Promise<string>>();
  readonly #failures = new Map<string, Failure>();

  readonly #limits: PullLimits | undefined;
  readonly #turns: Semaphore | undefined;
  #tokens = { left: 0, atMs: Number.NEGATIVE_INFINITY };

  readonly #plugins: Pick<CredentialPlugins, "logins"> | undefined;

  constructor({ runtime, clock, limits, plugins }: PullerOptions) {
    this.#runtime = runtime;
    this.#plugins = plugins;
    this.#clock = clock;
    this.#limits = limits;
    this.#turns = limits?.atOnce === undefined ? undefined : new Semaphore(limits.atOnce);
  }

  /** Rejects only if the signal fires, never because of the image. */
  async ensure(request: ImageRequest, signal?: AbortSignal): Promise<ImageOutcome> {
    const { image, policy } = request;
    const name = parseImageName(image);
    if (!name) {
      const shown = shortened(image);
      const message = `Failed to apply default image tag "${shown}": couldn't parse image name "${shown}": invalid reference format`;
      return { ok: false, reason: "InvalidImageName", message, retryAfterMs: maxMs };
    }
    const full = name.digest === undefined ? `${name.repository}:${name.tag}` : image;
    try {
      const held = await this.#runtime.imageStatus(full, signal);
      if (held && policy !== "Always") return { ok: true, image: held, message: present(image) };
    } catch (error) {
      signal?.throwIfAborted();
      const message = `Failed to inspect image "${full}": ${messageOf(error)}`;
      return { ok: false, reason: "ImageInspectError", message, retryAfterMs: baseMs };
    }
    if (policy === "Never") {
      const message = `Container image "${image}" is not present with pull policy of Never`;
      return { ok: false, reason: "ErrImageNeverPull", message, retryAfterMs: maxMs };
    }
    return await this.#pull(full, request, signal);
  }

  /** Call this when a pod is gone. */
  forgetPod(uid: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(`${uid}_`)) this.#failures.delete(key);
  }

  async #pull(name: string, request: ImageRequest, signal: AbortSignal | undefined): Promise<ImageOutcome> {
    const key = `${request.podUid}_${request.image}`;
    const before = this.#failures.get(key);
    const waitMs = (before?.until ?? 0) - this.#clock.now();
    if (before && waitMs > 0) {
      const message = `Back-off pulling image "${request.image}": ${before.message}`;
      return { ok: false, reason: "ImagePullBackOff", message, retryAfterMs: waitMs };
    }
    request.onPulling?.();
    const startedAt = this.#clock.now();
    try {
      const fromPlugins = (await this.#plugins?.logins(parseImageName(name)?.repository ?? name)) ?? [];
      const logins = [...credentialsFor(name, request.secrets), ...fromPlugins];
      const reference = await orAborted(this.#pullOnce(name, logins, request.sandbox), signal);
      const image =
        (await this.#runtime.imageStatus(reference, signal)) ?? (await this.#runtime.imageStatus(name, signal));
      if (!image) throw new Error(`image ${name} is missing after it was pulled`);
      this.#failures.delete(key);
      const took = `${Math.round(this.#clock.now() - startedAt)}ms`;
      const text = `Successfully pulled image "${request.image}" in ${took} (${took} including waiting). Image size: ${image.sizeBytes} bytes.`;
      return { ok: true, image, message: text };
    } catch (error) {
      signal?.throwIfAborted();
      return this.#failed(key, request.image, error);
    }
  }

  #failed(key: string, image: string, error: unknown): ImageOutcome {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const retryAfterMs = backoffMs(count, { baseMs, maxMs });
    const [reason, message] = explain(image, shortened(messageOf(error)));
    this.#failures.set(key, { count, until: this.#clock.now() + retryAfterMs, message: `${reason}: ${message}` });
    return { ok: false, reason, message, retryAfterMs };
  }

  /** Joins a running pull of the same image with the same logins. The pull continues when a waiting pod leaves. */
  #pullOnce(name: string, logins: readonly RegistryAuth[], sandbox: SandboxConfig | undefined): Promise<string> {
    const key = JSON.stringify([name, logins]);
    const running = this.#pulls.get(key);
    if (running) return running;
    if (!this.#mayPull()) return Promise.reject(new Error("pull QPS exceeded"));
    const begin = () => this.#tryLogins(name, logins, sandbox);
    const pull = (this.#turns ? this.#turns.take(begin) : begin()).finally(() => this.#pulls.delete(key));
    this.#pulls.set(key, pull);
    return pull;
  }

  /** Takes a token, if there is one. */
  #mayPull(): boolean {
    const { perSecond = 0, burst = 0 } = this.#limits ?? {};
    if (perSecond === 0) return true;
    const now = this.#clock.now();
    const gained = ((now - this.#tokens.atMs) / 1000) * perSecond;
    const left = Math.min(Math.max(1, burst), this.#tokens.left + gained);
    this.#tokens = { left: left >= 1 ? left - 1 : left, atMs: now };
    return left >= 1;
  }

  async #tryLogins(name: string, logins: readonly RegistryAuth[], sandbox: SandboxConfig | undefined): Promise<string> {
    if (logins.length === 0) return await this.#runtime.pullImage(name, { sandbox });
    const faults: unknown[] = [];
    for (const auth of logins) {
      try {
        return await this.#runtime.pullImage(name, { auth, sandbox });
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length === 1) throw faults[0];
    throw new AggregateError(faults, `[${[...new Set(faults.map(messageOf))].join(", ")}]`);
  }
}

/** Limits how much text of users and registries goes into a pod's status. */
const maxShown = 2048;
const shortened = (text: string): string => (text.length > maxShown ? `${text.slice(0, maxShown)}…` : text);

const baseMs = 10_000;
const maxMs = 300_000;

const present = (image: string): string =>
  `Container image "${image}" already present on machine and can be accessed by the pod`;

function explain(image: string, text: string): ["ErrImagePull" | "RegistryUnavailable", string] {
  if (!text.startsWith("RegistryUnavailable")) return ["ErrImagePull", text];
  const detail = text.slice("RegistryUnavailable".length);
  return ["RegistryUnavailable", `image pull failed for ${image} because the registry is unavailable${detail}`];
}
