import type { Webhook } from "#client/webhook/webhook.ts";
import { type Clock } from "#lib/async/clock.ts";
import { followFile } from "#lib/fs/follow-file.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Authorizer, rulesOfAll } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import type { AuthorizerConfiguration } from "#server/authorize/configured/authorization-config.ts";
import type { Match } from "#server/authorize/configured/match-conditions.ts";
import { ConfigFileError, parseConfig, readConfigFile } from "#server/config/config-file.ts";
import type { AuthorizationOptions, AuthorizationWebhookOptions } from "./options.ts";

export interface AuthorizersDeps {
  readonly clock: Clock;
  readonly log: Log;
}

interface MakerDeps extends AuthorizersDeps {
  /** The policies of mode ABAC. */
  readonly policyFile?: string | undefined;
  /** The flag that names the webhook's file, if it is not in a configuration. */
  readonly flag?: string;
}

/** The authorisers that need the API server's caches. */
export interface BuiltInAuthorizers {
  readonly Node: Authorizer;
  readonly RBAC: Authorizer;
}

/** Authorisers as configured. Files have been read and are sound. */
export interface ConfiguredAuthorizers extends Disposable {
  chain(builtIn: BuiltInAuthorizers): readonly Authorizer[];
  /** Takes over changes of the file until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

/** `--authorization-mode` and its webhook, or `--authorization-config`. */
export async function loadAuthorizers(
  options: AuthorizationOptions,
  loadDeps: AuthorizersDeps,
): Promise<ConfiguredAuthorizers> {
  const deps = { ...loadDeps, policyFile: options.policyFile };
  if ("configFile" in options) return await followedAuthorizers(options.configFile, deps);
  const made = await makeAll(configurationOf(options), { ...deps, flag: "authorization-webhook-config-file" });
  return { chain: made.chain, run: async () => {}, [Symbol.dispose]: made[Symbol.dispose] };
}

const defaultTimeout = "30s";

/** The flags in the terms of the file. */
function configurationOf({ modes, webhook }: Extract<AuthorizationOptions, { modes: unknown }>) {
  return modes.map((type): AuthorizerConfiguration => {
    if (type === "Webhook" && webhook) return { type, name: "default", webhook: webhookOf(webhook) };
    return { type, name: type.toLowerCase() };
  });
}

const webhookOf = ({ configFile, version, allowedTtlMs, refusedTtlMs }: AuthorizationWebhookOptions) => ({
  authorizedTTL: `${allowedTtlMs}ms`,
  cacheAuthorizedRequests: allowedTtlMs > 0,
  unauthorizedTTL: `${refusedTtlMs}ms`,
  cacheUnauthorizedRequests: refusedTtlMs > 0,
  timeout: defaultTimeout,
  subjectAccessReviewVersion: version,
  failurePolicy: "NoOpinion",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: configFile },
});

interface Made extends Disposable {
  readonly types: ReadonlySet<string>;
  chain(builtIn: BuiltInAuthorizers): readonly Authorizer[];
}

/** Opens the webhooks of a configuration. */
async function makeAll(configurations: readonly AuthorizerConfiguration[], deps: MakerDeps): Promise<Made> {
  const webhooks: Webhook[] = [];
  const close = () => {
    for (const webhook of webhooks) webhook[Symbol.dispose]();
  };
  try {
    const makers: ((builtIn: BuiltInAuthorizers) => Authorizer)[] = [];
    for (const configuration of configurations) makers.push(await makerOf(configuration, deps, webhooks));
    const types = new Set(configurations.map(({ type = "" }) => type));
    return { types, chain: (builtIn) => makers.map((make) => make(builtIn)), [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

async function compiledConditions(conditions: readonly { readonly expression?: string }[]): Promise<Match> {
  const { compileConditions } = await import("#server/authorize/configured/match-conditions.ts");
  return compileConditions(conditions);
}

async function abacMaker(policyFile: string | undefined): Promise<() => Authorizer> {
  if (!policyFile) throw new ConfigFileError("ABAC needs its policies: add --authorization-policy-file FILE");
  const { loadAbac } = await import("#server/authorize/configured/abac.ts");
  const authorizer = await loadAbac(policyFile);
  return () => authorizer;
}

async function makerOf(
  { type = "", name = "", webhook: config }: AuthorizerConfiguration,
  { clock, log, policyFile, flag }: MakerDeps,
  opened: Webhook[],
): Promise<(builtIn: BuiltInAuthorizers) => Authorizer> {
  if (type === "Node" || type === "RBAC") return (builtIn) => builtIn[type];
  if (type === "ABAC") return await abacMaker(policyFile);
  if (type !== "Webhook" || !config) {
    const { alwaysAllow, alwaysDeny } = await import("#server/authorize/configured/fixed.ts");
    return () => (type === "AlwaysAllow" ? alwaysAllow : alwaysDeny);
  }
  const [{ authorizationWebhook }, { openWebhook }, { millisecondsOf }] = await Promise.all([
    import("#server/authorize/configured/webhook.ts"),
    import("#client/webhook/webhook.ts"),
    import("#server/authorize/configured/authorization-config.ts"),
  ]);
  const webhook = await openWebhook(config.connectionInfo.kubeConfigFile ?? "", {
    clock,
    timeoutMs: millisecondsOf(config.timeout),
    retry: webhookRetry,
    flag,
  });
  opened.push(webhook);
  const conditions = config.matchConditions ?? [];
  const match = conditions.length > 0 ? await compiledConditions(conditions) : undefined;
  const authorizer = authorizationWebhook({
    name,
    webhook,
    match,
    version: config.subjectAccessReviewVersion === "v1beta1" ? "v1beta1" : "v1",
    allowedTtlMs: config.cacheAuthorizedRequests ? millisecondsOf(config.authorizedTTL) : 0,
    refusedTtlMs: config.cacheUnauthorizedRequests ? millisecondsOf(config.unauthorizedTTL) : 0,
    onFailure: config.failurePolicy === "Deny" ? "deny" : "no opinion",
    clock,
    log,
  });
  return () => authorizer;
}

/** Upstream's pauses between attempts. */
export const webhookRetry = { attempts: 5, baseMs: 500, factor: 1.5, maxMs: 10_000 };

/** How soon a change of the file takes effect. */
const reloadMs = 10_000;

/** The chain of a file, which is replaced as a whole when the file changes. A bad change is logged and has no effect. */
async function followedAuthorizers(path: string, deps: AuthorizersDeps): Promise<ConfiguredAuthorizers> {
  const text = await readConfigFile(path, "authorization-config");
  let made = await makeFrom(text, path, deps);
  const required = [...made.types].filter((type) => type !== "Webhook");
  /** Requests may still be waiting for the webhooks of the chain before this one. */
  let previous: Made | undefined;
  let builtIn: BuiltInAuthorizers | undefined;
  let current: readonly Authorizer[] = [];

  const replace = async (changed: string): Promise<true> => {
    try {
      const next = await makeFrom(changed, path, deps, required);
      previous?.[Symbol.dispose]();
      [previous, made] = [made, next];
      if (builtIn) current = made.chain(builtIn);
      deps.log.info("the authorization configuration has changed", { path });
    } catch (error) {
      deps.log.error("the authorization configuration stays as it was", { error: messageOf(error) });
    }
    return true;
  };
  return {
    chain(given) {
      builtIn = given;
      current = made.chain(given);
      return [switched(() => current)];
    },
    run: (signal) => followFile(path, { clock: deps.clock, everyMs: reloadMs, text, changed: replace }, signal),
    [Symbol.dispose]() {
      made[Symbol.dispose]();
      previous?.[Symbol.dispose]();
    },
  };
}

async function makeFrom(text: string, path: string, deps: AuthorizersDeps, required: readonly string[] = []) {
  const { authorizationConfig } = await import("#server/authorize/configured/authorization-config.ts");
  const { authorizers = [] } = await parseConfig(authorizationConfig, text, path);
  const missing = required.filter((type) => !authorizers.some((one) => one.type === type));
  if (missing.length > 0) throw new ConfigFileError(`${path}: authorizers: missing required types: ${missing}`);
  return await makeAll(authorizers, deps);
}

/** A request is decided by the chain that holds when it arrives. */
const switched = (current: () => readonly Authorizer[]): Authorizer => ({
  name: "configured",
  authorize: (user, info) => decide(current(), user, info),
  rulesFor: (user, namespace) => rulesOfAll(current(), user, namespace),
});
