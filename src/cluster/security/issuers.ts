import { type Clock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { equal } from "#lib/data/equal.ts";
import { followFile } from "#lib/fs/follow-file.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type AnonymousOptions } from "#server/authenticate/anonymous.ts";
import { type TokenAuthenticator } from "#server/authenticate/bearer.ts";
import {
  type AuthenticationConfiguration,
  authenticationConfig,
  type JwtAuthenticator,
} from "#server/authenticate/oidc/authentication-config.ts";
import { createClaimSources } from "#server/authenticate/oidc/claim-sources.ts";
import { createIssuerKeys } from "#server/authenticate/oidc/issuer-keys.ts";
import { type OidcIssuer, oidcTokens, signingAlgorithms } from "#server/authenticate/oidc/oidc.ts";
import { ConfigFileError, parseConfig, readConfigFile } from "#server/config/config-file.ts";
import type { IssuerOptions, OidcOptions } from "./options.ts";

export interface IssuersDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Those of service accounts. */
  readonly taken: readonly string[];
}

/** Issuers of OpenID Connect as configured. Their keys are fetched while `run` runs. */
export interface ConfiguredIssuers {
  readonly tokens: TokenAuthenticator;
  /** What the file says about callers without a credential, if it says something. */
  readonly anonymous: AnonymousChoice | undefined;
  run(signal: AbortSignal): Promise<void>;
}
export interface AnonymousChoice extends AnonymousOptions {
  readonly enabled: boolean;
}

/** How soon a change of the file takes effect. */
const reloadMs = 10_000;
const flag = "authentication-config";

export async function loadIssuers(options: IssuerOptions, deps: IssuersDeps): Promise<ConfiguredIssuers> {
  const { clock } = deps;
  const kind = authenticationConfig(deps.taken);
  if (!("configFile" in options)) {
    const config = { apiVersion: kind.apiVersions[0], kind: kind.kind, jwt: [await issuerOf(options)] };
    const { jwt = [] } = await parseConfig(kind, JSON.stringify(config), "the --oidc flags");
    const issuers = createIssuers(deps, jwt);
    const tokens = oidcTokens({ issuers: issuers.current, algorithms: options.algorithms, clock });
    return { tokens, anonymous: undefined, run: issuers.run };
  }
  const path = options.configFile;
  const text = await readConfigFile(path, flag);
  const first = await parseConfig(kind, text, path);
  const issuers = createIssuers(deps, first.jwt ?? []);
  const changed = (next: string) =>
    replace(deps.log, path, async () => {
      const config = await parseConfig(kind, next, path);
      if (!equal(config.anonymous, first.anonymous)) {
        throw new ConfigFileError(`${path}: anonymous: Forbidden: changed from initial configuration file`);
      }
      issuers.replace(config.jwt ?? []);
    });
  return {
    tokens: oidcTokens({ issuers: issuers.current, algorithms: signingAlgorithms, clock }),
    anonymous: first.anonymous && anonymousOf(first.anonymous),
    run: (signal) =>
      runTogether(signal, [
        issuers.run,
        (ended) => followFile(path, { clock, everyMs: reloadMs, text, changed }, ended),
      ]),
  };
}

/** A bad file is reported once: reading it again would find the same. */
async function replace(log: Log, path: string, take: () => Promise<void>): Promise<true> {
  try {
    await take();
    log.info("the authentication configuration has changed", { path });
  } catch (error) {
    log.error("the authentication configuration stays as it was", { error: messageOf(error) });
  }
  return true;
}

function anonymousOf({ enabled = false, conditions }: NonNullable<AuthenticationConfiguration["anonymous"]>) {
  return { enabled, ...(conditions ? { paths: conditions.map(({ path = "" }) => path) } : {}) };
}

/** The issuers that hold now. An issuer whose settings stay the same keeps its keys. */
function createIssuers(deps: IssuersDeps, configs: readonly JwtAuthenticator[]) {
  const open = (config: JwtAuthenticator): OidcIssuer => {
    const { url = "", discoveryURL: discoveryUrl, certificateAuthority } = config.issuer;
    const options = { ...deps, url, discoveryUrl, certificateAuthority };
    const keys = createIssuerKeys(options);
    return { config, keys, sources: createClaimSources(keys, options) };
  };
  let current = configs.map(open);
  const changes = new Nudge();
  return {
    current: (): readonly OidcIssuer[] => current,
    replace(next: readonly JwtAuthenticator[]): void {
      const kept = (config: JwtAuthenticator) => current.find((one) => equal(one.config, config));
      current = next.map((config) => kept(config) ?? open(config));
      changes.give();
    },
    /** Fetches the keys of all issuers, also of those that are added later. */
    async run(signal: AbortSignal): Promise<void> {
      signal.addEventListener("abort", () => changes.give(), { once: true });
      while (!signal.aborted) {
        const round = new AbortController();
        const fetching = runTogether(
          AbortSignal.any([signal, round.signal]),
          current.map(({ keys }) => keys.run),
        );
        await changes.taken();
        round.abort();
        await fetching;
      }
    },
  };
}

/** The flags in the terms of the file. */
async function issuerOf(options: OidcOptions): Promise<JwtAuthenticator> {
  const { issuerUrl, clientId, caFile, usernameClaim, usernamePrefix, groupsClaim, groupsPrefix } = options;
  const rules = Object.entries(options.requiredClaims);
  return {
    issuer: {
      url: issuerUrl,
      audiences: [clientId],
      ...(caFile ? { certificateAuthority: await readConfigFile(caFile, "oidc-ca-file") } : {}),
    },
    claimMappings: {
      username: { claim: usernameClaim, prefix: usernamePrefix },
      groups: groupsClaim ? { claim: groupsClaim, prefix: groupsPrefix } : {},
      uid: {},
    },
    claimValidationRules: rules.map(([claim, requiredValue]) => ({ claim, requiredValue })),
  };
}
