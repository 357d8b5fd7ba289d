import { createHash } from "node:crypto";
import { type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
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
  #hash = "";
  #cancel: (() => void) | undefined;
  #countReload: (status: "success" | "failure") => void = () => {};
  #count: CountTransformation = () => {};

  private constructor(options: EncryptionOptions) {
    this.#options = options;
  }

  /** Throws ConfigFileError if the file cannot be used. */
  static async open(options: EncryptionOptions): Promise<Encryption> {
    const encryption = new Encryption(options);
    await encryption.#load();
    if (options.reloads) encryption.#watch();
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

  get hasServices(): boolean {
    return this.#services.size > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel?.();
    this.#cancel = () => {};
    close(this.#services);
  }

  async #load(): Promise<void> {
    const { file, resources } = this.#options;
    const text = await readConfigFile(file, "encryption-provider-config");
    const config = await parseConfig(encryptionConfig, text, file);
    const services = await openServices(config, this.#options);
    const replaced = this.#services;
    this.#transformerOf = transformersFor(config, {
      resources,
      kmsOf: (name) => serviceNamed(services, name),
      count: (type, outcome) => this.#count(type, outcome),
    });
    this.#services = services;
    this.#hash = hashOf(text);
    // Calls that are under way may end.
    if (replaced.size > 0) this.#options.clock.after(graceMs, () => close(replaced));
  }

  #watch(): void {
    this.#cancel = this.#options.clock.after(reloadMs, () => {
      this.#cancel = undefined;
      void this.#reload().finally(() => this.#cancel ?? this.#watch());
    });
  }

  /** A file with a fault changes nothing: the last good configuration stays. */
  async #reload(): Promise<void> {
    const { file, log } = this.#options;
    try {
      const text = await readConfigFile(file, "encryption-provider-config");
      if (hashOf(text) === this.#hash) return;
      await this.#load();
      log.info("the encryption configuration was read again", { file, hash: this.#hash });
      this.#countReload("success");
    } catch (error) {
      log.error("the encryption configuration was not read again", { file, error });
      this.#countReload("failure");
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

/** The keys themselves are not kept to compare them. */
const hashOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;
