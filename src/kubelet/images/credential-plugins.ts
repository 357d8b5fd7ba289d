import type { RegistryAuth } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Log } from "#lib/process/log.ts";
import { runCommand } from "#lib/process/processes.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { canonicalImage, imageFits, registryOf } from "./credentials.ts";
import { type PluginAnswer, parsePluginAnswer, pluginApiVersion } from "./plugin-answer.ts";

/** A program on the node that knows logins for some images. */
export interface CredentialPlugin {
  readonly name: string;
  /** Its path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Patterns of the images that it is asked about. */
  readonly matchImages: readonly string[];
  /** How long an answer is kept that does not say. */
  readonly defaultCacheMs: number;
}

export interface CredentialPluginsDeps {
  readonly plugins: readonly CredentialPlugin[];
  readonly clock: Clock;
  readonly log: Log;
}

interface Kept {
  readonly answer: PluginAnswer;
  readonly untilMs: number;
}

/** Asks credential plugins for logins, and keeps their answers as long as they allow. */
export class CredentialPlugins {
  readonly #deps: CredentialPluginsDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #asked = new Map<string, Promise<PluginAnswer>>();

  constructor(deps: CredentialPluginsDeps) {
    this.#deps = deps;
  }

  /** Logins for an image, those for the longest matching pattern first. A plugin that fails knows none. */
  async logins(image: string): Promise<RegistryAuth[]> {
    const name = canonicalImage(image);
    const fitting = this.#deps.plugins.filter(({ matchImages }) => matchImages.some((one) => imageFits(one, name)));
    const answers = await Promise.all(fitting.map((plugin) => this.#answerOf(plugin, name)));
    return answers.flatMap(({ logins }) => {
      const usable = logins.filter(({ pattern }) => imageFits(pattern, name));
      return usable.toSorted((a, b) => b.pattern.length - a.pattern.length).map(({ auth }) => auth);
    });
  }

  async #answerOf(plugin: CredentialPlugin, image: string): Promise<PluginAnswer> {
    const kept = this.#find(plugin, image);
    if (kept) return kept;
    // Pods that want the same image at the same time ask once.
    const key = keyOf(plugin, "Image", image);
    const asked = this.#asked.get(key) ?? this.#ask(plugin, image).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return await asked;
  }

  #find(plugin: CredentialPlugin, image: string): PluginAnswer | undefined {
    const now = this.#deps.clock.now();
    const keys = (["Image", "Registry", "Global"] as const).map((type) => keyOf(plugin, type, image));
    return keys.map((key) => this.#kept.get(key)).find((kept) => kept && kept.untilMs > now)?.answer;
  }

  async #ask(plugin: CredentialPlugin, image: string): Promise<PluginAnswer> {
    const { clock, log } = this.#deps;
    try {
      const answer = parsePluginAnswer(await run(plugin, image));
      this.#keep(keyOf(plugin, answer.cacheKeyType, image), {
        answer,
        untilMs: clock.now() + (answer.cacheMs ?? plugin.defaultCacheMs),
      });
      return answer;
    } catch (error) {
      log.warn("a credential plugin failed", { plugin: plugin.name, image, error: messageOf(error) });
      return { logins: [], cacheKeyType: "Image", cacheMs: 0 };
    }
  }

  #keep(key: string, kept: Kept): void {
    const now = this.#deps.clock.now();
    for (const [old, { untilMs }] of this.#kept) if (untilMs <= now) this.#kept.delete(old);
    // Users choose the names of images, so the oldest answers go.
    for (const old of this.#kept.keys()) if (this.#kept.size >= maxKept) this.#kept.delete(old);
    if (kept.untilMs > now) this.#kept.set(key, kept);
  }
}

const maxKept = 1000;
const timeoutMs = 60_000;

const keyOf = ({ name }: CredentialPlugin, type: PluginAnswer["cacheKeyType"], image: string): string => {
  const of = { Image: image, Registry: registryOf(image), Global: "" }[type];
  return JSON.stringify([name, type, of]);
};

/** The image is only in the request, never an argument. */
async function run({ program, args, env }: CredentialPlugin, image: string): Promise<string> {
  const request = { kind: "CredentialProviderRequest", apiVersion: pluginApiVersion, image };
  const options = { input: JSON.stringify(request), env: { ...env }, signal: AbortSignal.timeout(timeoutMs) };
  return (await runCommand(program, args, options)).stdout;
}
