import { type MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { type ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { type Informer } from "#runtime/informer.ts";

export type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;
/** The fields that both types of webhooks have. */
export type Webhook = NonNullable<ValidatingWebhookConfiguration["webhooks"]>[number];
export type MutatingWebhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];

/** One webhook of a configuration. A changed configuration has new hooks. */
export interface Hook<W extends Webhook = Webhook> {
  /** Unique among all webhooks of its type. */
  readonly id: string;
  readonly configuration: string;
  readonly webhook: W;
}

/** The webhooks of all configurations of one kind, in the order of the configurations' names. */
export class ConfiguredWebhooks<C extends WebhookConfiguration> {
  readonly #byName = new Map<string, C>();
  readonly #retire: (hook: Hook) => void;
  #hooks: readonly Hook[] | undefined;

  /** `retire` is called with each hook whose configuration has changed or is gone. */
  constructor(configurations: Informer<C>, retire: (hook: Hook) => void) {
    this.#retire = retire;
    configurations.subscribe(({ type, object }) => {
      const { name } = object.metadata;
      if (type === "delete") this.#byName.delete(name);
      else this.#byName.set(name, object);
      this.#forget(name);
    });
  }

  /** Every write asks this. */
  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  list(): readonly Hook[] {
    if (this.#hooks) return this.#hooks;
    const names = [...this.#byName.keys()].toSorted();
    this.#hooks = names.flatMap((name) => this.#kept.get(name) ?? this.#hooksOf(name));
    return this.#hooks;
  }

  readonly #kept = new Map<string, readonly Hook[]>();

  #hooksOf(name: string): readonly Hook[] {
    const webhooks: readonly Webhook[] = this.#byName.get(name)?.webhooks ?? [];
    const hooks = webhooks.map((webhook) => ({ id: `${name}/${webhook.name}`, configuration: name, webhook }));
    this.#kept.set(name, hooks);
    return hooks;
  }

  #forget(name: string): void {
    for (const hook of this.#kept.get(name) ?? []) this.#retire(hook);
    this.#kept.delete(name);
    this.#hooks = undefined;
  }
}
