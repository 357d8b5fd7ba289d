import { type Clock } from "#lib/async/clock.ts";
import { runTogether, type Task } from "#lib/async/tasks.ts";
import { type SigningKey } from "#lib/crypto/jwt.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { anonymous } from "#server/authenticate/anonymous.ts";
import { type Authenticator } from "#server/authenticate/authenticator.ts";
import { type TokenAuthenticator } from "#server/authenticate/bearer.ts";
import type { RequestHeaderOptions } from "#server/authenticate/request-header.ts";
import { loadTokenFile } from "#server/authenticate/token-file.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { ConfigFileError, readConfigFile } from "#server/config/config-file.ts";
import { type AccountSettings, issuersOf, loadAccounts } from "./account-settings.ts";
import type { BuiltInAuthorizers, ConfiguredAuthorizers } from "./authorizers.ts";
import type { AnonymousChoice, ConfiguredIssuers, IssuersDeps } from "./issuers.ts";
import type {
  AuthorizationOptions,
  FrontProxyOptions,
  IssuerOptions,
  SecurityOptions,
  TokenWebhookOptions,
} from "./options.ts";

export interface LoadDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** What the caches and settings of the API server add to the authenticators. */
export interface TokenDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  /** The audiences of the API server. */
  readonly audiences: readonly string[];
}

/** Authentication and authorisation as configured: every file has been read and is sound. */
export interface LoadedSecurity extends Disposable {
  /** Asked before and after the tokens of service accounts. */
  readonly staticTokens: readonly TokenAuthenticator[];
  otherTokens(deps: TokenDeps): readonly TokenAuthenticator[];
  /** With the key that the server has made for itself. */
  accounts(own: SigningKey): AccountSettings;
  /** Callers without a credential; undefined: they are refused. */
  readonly anonymous: Authenticator | undefined;
  /** A proxy that authenticates its callers itself. */
  readonly frontProxy: FrontProxy | undefined;
  /** The chain after `system:masters`. */
  authorizers(builtIn: BuiltInAuthorizers): readonly Authorizer[];
  /** Follows files that may change, until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

export interface FrontProxy {
  readonly authenticator: Authenticator;
  readonly options: RequestHeaderOptions;
  /** The authorities of its certificates, in PEM. */
  readonly ca: string;
}

/** Reads what the options name. What is not configured is not even imported. */
export async function loadSecurity(options: SecurityOptions, deps: LoadDeps): Promise<LoadedSecurity> {
  const opened = new DisposableStack();
  try {
    const staticTokens = options.tokenFile ? [await loadTokenFile(options.tokenFile)] : [];
    const makers: TokenMaker[] = [];
    if (options.bootstrapTokens) makers.push(await bootstrapMaker());
    const accounts = await loadAccounts(options.accounts ?? {});
    const taken = issuersOf(options.accounts ?? {});
    const issuers = options.issuers && (await openIssuers(options.issuers, { ...deps, taken }));
    if (issuers) makers.push(() => issuers.tokens);
    if (options.tokenWebhook) makers.push(await webhookMaker(options.tokenWebhook, deps, opened));
    const configured = options.authorization && opened.use(await openAuthorizers(options.authorization, deps));
    const tasks: Task[] = [configured, issuers].flatMap((part) =>
      part ? [(signal: AbortSignal) => part.run(signal)] : [],
    );
    return {
      staticTokens,
      accounts,
      otherTokens: (tokenDeps) => makers.map((make) => make(tokenDeps)),
      frontProxy: options.frontProxy && (await frontProxyOf(options.frontProxy)),
      anonymous: anonymousOf(options, issuers?.anonymous),
      authorizers: (builtIn) => configured?.chain(builtIn) ?? [builtIn.Node, builtIn.RBAC],
      run: (signal) => runTogether(signal, tasks),
      [Symbol.dispose]: () => opened.dispose(),
    };
  } catch (error) {
    opened.dispose();
    throw error;
  }
}

/** The modules are only loaded if something is configured. */
async function openAuthorizers(options: AuthorizationOptions, deps: LoadDeps): Promise<ConfiguredAuthorizers> {
  const { loadAuthorizers } = await import("./authorizers.ts");
  return await loadAuthorizers(options, deps);
}

async function openIssuers(options: IssuerOptions, deps: IssuersDeps): Promise<ConfiguredIssuers> {
  const { loadIssuers } = await import("./issuers.ts");
  return await loadIssuers(options, deps);
}

function anonymousOf(
  { anonymous: flag }: SecurityOptions,
  file: AnonymousChoice | undefined,
): Authenticator | undefined {
  if (!file) return flag === false ? undefined : anonymous();
  if (flag === undefined) return file.enabled ? anonymous(file) : undefined;
  const why =
    "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file";
  throw new ConfigFileError(`anonymous: Forbidden: ${why}`);
}

async function frontProxyOf({ caFile, ...options }: FrontProxyOptions): Promise<FrontProxy> {
  const flag = "requestheader-client-ca-file";
  const ca = await readConfigFile(caFile, flag);
  const [{ requestHeader }, { certificatesIn }] = await Promise.all([
    import("#server/authenticate/request-header.ts"),
    import("#lib/crypto/x509.ts"),
  ]);
  if (certificatesIn(ca).length === 0)
    throw new ConfigFileError(`${caFile} has no certificate in PEM: check --${flag}`);
  return { authenticator: requestHeader(options), options, ca };
}

type TokenMaker = (deps: TokenDeps) => TokenAuthenticator;

async function bootstrapMaker(): Promise<TokenMaker> {
  const { bootstrapTokens } = await import("#server/authenticate/bootstrap-token.ts");
  return bootstrapTokens;
}

/** Upstream's limit for one review. */
const tokenReviewMs = 10_000;

async function webhookMaker(
  { configFile, version, ttlMs }: TokenWebhookOptions,
  { clock, log }: LoadDeps,
  opened: DisposableStack,
): Promise<TokenMaker> {
  const [{ tokenWebhook }, { openWebhook }, { webhookRetry }] = await Promise.all([
    import("#server/authenticate/token-webhook.ts"),
    import("#client/webhook/webhook.ts"),
    import("./authorizers.ts"),
  ]);
  const flag = "authentication-token-webhook-config-file";
  const settings = { clock, timeoutMs: tokenReviewMs, retry: webhookRetry, flag };
  const webhook = opened.use(await openWebhook(configFile, settings));
  return ({ audiences }) => tokenWebhook({ webhook, version, ttlMs, audiences, clock, log });
}
