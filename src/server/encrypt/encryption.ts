import { type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { followFile } from "#lib/fs/follow-file.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { parseDuration } from "#schema/duration.ts";
import { type Store } from "#store/store.ts";
import { parseConfig, readConfigFile } from "../config/config-file.ts";
import { type EncryptionConfiguration, encryptionConfig } from "./configuration.ts";
import { EncryptedStore, type TransformerOf } from "./encrypted-store.ts";
import { type KmsProvider } from "./kms/kms-provider.ts";
import { type CountTransformation } from "./provider.ts";
import { transformersFor } from "./transformers.ts";

export interface EncryptionOptions {
  /** An EncryptionConfiguration. */
  readonly file: string;
  /** Whether it is read again when it changes. */
  readonly reloads: boolean;
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  readonly log: Log;
}

/** How often a file is looked at, as upstream. */
const reloadMs = 60_000;

/** Encryption at rest, as a configuration file describes it. */
export class Encryption implements AsyncDisposable {
  readonly #options: EncryptionOptions;
  #transformerOf: TransformerOf = () => {
    throw new Error("the encryption configuration has not been read");
  };
  #services: ReadonlyMap<string, KmsProvider> = new Map();
  readonly #ended = new AbortController();
  #following: Promise<void> | undefined;
  #countReload: (status: "success" | "failure") => void = () => {};
  #count: CountTransformation = () => {};

  private constructor(options: EncryptionOptions) {
    this.#options = options;
  }

  /** Throws ConfigFileError if the file cannot be used. */
  static async open(options: EncryptionOptions): Promise<Encryption> {
    const encryption = new Encryption(options);
    const text = await readConfigFile(options.file, "encryption-provider-config");
    await encryption.#load(text);
    if (options.reloads) encryption.#follow(text);
    return encryption;
  }

  /** The same store, with encrypted values. */
  around(store: Store, metrics: Metrics): EncryptedStore {
    const help = "Automatic reloads of the encryption configuration, by their outcome.";
    const reloads = metrics.counter("apiserver_encryption_config_controller_automatic_reloads_total", help, ["status"]);
    this.#countReload = (status) => reloads.add([status]);
    const labels = ["transformation_type", "transformer_prefix", "status"];
    const operations = metrics.counter(operationsName, "Values that were encrypted and decrypted.", labels);
    this.#count = (type, { prefix, status }) => operations.add([type, prefix, status]);
    return new EncryptedStore(store, (key) => this.#transformerOf(key));
  }

  /** What is wrong with the key services; undefined if nothing is, or there are none. */
  get fault(): string | undefined {
    const faults = [...this.#services.values()].flatMap(({ name, fault }) => (fault ? [`${name}: ${fault}`] : []));
    return faults.length > 0 ? faults.join("; ") : undefined;
  }

  /** Whether there are key services, or a change of the file may bring some. */
  get mayHaveServices(): boolean {
    return this.#services.size > 0 || this.#options.reloads;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new Error("the server ends"));
    await this.#following;
    close(this.#services);
  }

  #follow(text: string): void {
    const { clock, file, log } = this.#options;
    const { signal } = this.#ended;
    const changed = (next: string) => this.#reload(next);
    this.#following = followFile(file, { clock, everyMs: reloadMs, text, changed }, signal).catch((error: unknown) => {
      if (!isAbort(error, signal)) log.error("the encryption configuration is no longer followed", { error });
    });
  }

  async #load(text: string): Promise<void> {
    const { file, resources } = this.#options;
    const config = await parseConfig(encryptionConfig, text, file);
    const services = await openServices(config, this.#options);
    const replaced = this.#services;
    this.#transformerOf = transformersFor(config, {
      resources,
      kmsOf: (name) => serviceNamed(services, name),
      count: (type, outcome) => this.#count(type, outcome),
    });
    this.#services = services;
    // Calls that are under way may end.
    if (replaced.size > 0) this.#options.clock.after(graceMs, () => close(replaced));
  }

  /** A file with a fault changes nothing: the last good configuration stays. The key service may answer the next time. */
  async #reload(text: string): Promise<boolean> {
    const { file, log } = this.#options;
    try {
      await this.#load(text);
      log.info("the encryption configuration was read again", { file });
      this.#countReload("success");
      return true;
    } catch (error) {
      log.error("the encryption configuration was not read again", { file, error });
      this.#countReload("failure");
      return false;
    }
  }
}

const operationsName = "apiserver_storage_transformation_operations_total";

/** Longer than a call takes. */
const graceMs = 10_000;

const close = (services: ReadonlyMap<string, KmsProvider>): void => {
  for (const service of services.values()) service[Symbol.dispose]();
};

/** The services are loaded only if there are some. */
async function openServices(
  { resources = [] }: EncryptionConfiguration,
  deps: EncryptionOptions,
): Promise<Map<string, KmsProvider>> {
  const configs = resources.flatMap(({ providers = [] }) => providers.flatMap(({ kms }) => (kms ? [kms] : [])));
  const services = new Map<string, KmsProvider>();
  for (const { name = "", endpoint = "", timeout } of configs) {
    const { KmsProvider } = await import("./kms/kms-provider.ts");
    const timeoutMs = Number(parseDuration(timeout)) / 1e6;
    services.set(name, await KmsProvider.open({ name, endpoint, timeoutMs }, deps));
  }
  return services;
}

function serviceNamed(services: ReadonlyMap<string, KmsProvider>, name: string): KmsProvider {
  const service = services.get(name);
  if (!service) throw new Error(`there is no key service ${name}`);
  return service;
}
