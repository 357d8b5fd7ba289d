import { randomUUID } from "node:crypto";
import { type Conversion, ConversionError } from "#api/conversion.ts";
import { type ApiObject, groupOf } from "#api/resource.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type PostWorld, postReview } from "#server/webhook/post.ts";
import { type Called } from "#server/webhook/target.ts";
import { checkConverted } from "./check-converted.ts";
import { ConversionFault, shownKind } from "./conversion-fault.ts";
import { type ConversionMetrics } from "./conversion-metrics.ts";
import { type Asked, createReview, readAnswer, reviewVersionOf } from "./review.ts";

export interface ConverterWorld extends PostWorld {
  readonly metrics: ConversionMetrics;
  /** The server ends. */
  readonly signal: AbortSignal;
}

/** The webhook of one definition. */
export interface ConversionHook extends Called {
  /** The name of the definition. */
  readonly name: string;
  readonly conversionReviewVersions: readonly string[];
  /** The versions of the definition, as in `apiVersion`. */
  readonly apiVersions: ReadonlySet<string>;
}

type Result = ApiObject | ConversionError;

/** As upstream, whose webhooks for conversion have no timeout of their own. */
const timeoutSeconds = 30;

/** Asks the webhook of a definition to convert objects. What it says is checked: a webhook that lies is refused. */
export class WebhookConverter implements Conversion {
  readonly #world: ConverterWorld;
  readonly #hook: ConversionHook;

  constructor(world: ConverterWorld, hook: ConversionHook) {
    this.#world = world;
    this.#hook = hook;
  }

  async convert(objects: readonly ApiObject[], apiVersion: string): Promise<readonly Result[]> {
    const results: Result[] = objects.map((object) => this.#refused(object) ?? object);
    const asked = objects.filter((object, at) => results[at] === object && object.apiVersion !== apiVersion);
    const converted = (await this.#convertSome(asked, apiVersion)).values();
    return results.map((result) => {
      if (result instanceof ConversionError || result.apiVersion === apiVersion) return result;
      return converted.next().value ?? result;
    });
  }

  #refused({ apiVersion = "" }: ApiObject): ConversionError | undefined {
    if (this.#hook.apiVersions.has(apiVersion)) return undefined;
    return new ConversionError(`request to convert CR from an invalid group/version: ${apiVersion}`);
  }

  /** If an answer is useless because of some objects, the others are still converted. */
  async #convertSome(objects: readonly ApiObject[], apiVersion: string): Promise<readonly Result[]> {
    if (objects.length === 0) return [];
    try {
      return await this.#ask(objects, apiVersion);
    } catch (error) {
      if (!(error instanceof ConversionFault)) throw error;
      const isUnreachable = error.type === "conversion_webhook_call_failure";
      if (isUnreachable || objects.length === 1) {
        return objects.map((object) => errorOf(object, error, isUnreachable));
      }
    }
    const middle = Math.ceil(objects.length / 2);
    const first = await this.#convertSome(objects.slice(0, middle), apiVersion);
    return [...first, ...(await this.#convertSome(objects.slice(middle), apiVersion))];
  }

  async #ask(objects: readonly ApiObject[], desiredAPIVersion: string): Promise<Result[]> {
    const { metrics, clock } = this.#world;
    const startMs = clock.now();
    let fault: ConversionFault | undefined;
    const check = (object: ApiObject, converted: unknown): Result => {
      try {
        return checkConverted(object, converted, desiredAPIVersion);
      } catch (error) {
        if (!(error instanceof ConversionFault)) throw error;
        fault ??= error;
        return errorOf(object, error, false);
      }
    };
    try {
      const answers = await this.#post(objects, desiredAPIVersion);
      return objects.map((object, at) => check(object, answers[at]));
    } catch (error) {
      if (error instanceof ConversionFault) fault = error;
      throw error;
    } finally {
      const seconds = (clock.now() - startMs) / 1000;
      metrics.called({ seconds, fault: fault?.type });
      const to = versionOf(desiredAPIVersion);
      const froms = new Set(objects.map(({ apiVersion = "" }) => versionOf(apiVersion)));
      const about = { name: this.#hook.name, to, succeeded: fault === undefined, seconds };
      for (const from of froms) metrics.converted({ ...about, from });
    }
  }

  async #post(objects: readonly ApiObject[], desiredAPIVersion: string): Promise<readonly unknown[]> {
    const version = reviewVersionOf(this.#hook.conversionReviewVersions);
    if (!version) throw failed("no supported conversion review versions");
    const asked: Asked = { uid: randomUUID(), version, desiredAPIVersion, objects };
    const body = Buffer.from(JSON.stringify(createReview(asked)));
    const { signal } = this.#world;
    const posted = { body, timeoutSeconds, userAgent: "kube-apiserver-admission", signal };
    let bytes: Uint8Array;
    try {
      bytes = await postReview(this.#world, this.#hook, posted);
    } catch (error) {
      throw failed(messageOf(error));
    }
    return readAnswer(bytes, asked);
  }
}

const failed = (why: string): ConversionFault =>
  new ConversionFault("conversion_webhook_call_failure", `failed: ${why}`);

const errorOf = (object: ApiObject, fault: ConversionFault, isUnreachable: boolean): ConversionError =>
  new ConversionError(`conversion webhook for ${shownKind(object)} ${fault.message}`, { isUnreachable });

const versionOf = (apiVersion: string): string => apiVersion.slice(groupOf(apiVersion).length + 1);
