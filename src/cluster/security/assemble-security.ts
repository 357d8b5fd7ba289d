import { type Clock } from "#lib/async/clock.ts";
import { type SigningKey } from "#lib/crypto/jwt.ts";
import { anonymous } from "#server/authenticate/anonymous.ts";
import { bearer, type TokenAuthenticator } from "#server/authenticate/bearer.ts";
import { clientCertificate } from "#server/authenticate/client-certificate.ts";
import { inProcess } from "#server/authenticate/in-process.ts";
import { LegacyTokenUses } from "#server/authenticate/legacy-token-uses.ts";
import { type ServiceAccountTokenDeps, serviceAccountTokens } from "#server/authenticate/service-account.ts";
import { createLoopback } from "#server/authorize/loopback.ts";
import { createNodeAuthorizer } from "#server/authorize/node.ts";
import { privileged } from "#server/authorize/privileged.ts";
import { createRbac } from "#server/authorize/rbac.ts";
import { volumeRelations } from "#server/authorize/volume-relations.ts";
import { type AccountSettings, defaultIssuer } from "./account-settings.ts";
import { type LoadedSecurity } from "./load-security.ts";

export interface SecurityOptions {
  readonly clock: Clock;
  /** Signs service-account tokens. */
  readonly signingKey: SigningKey;
  readonly tokens?: readonly TokenAuthenticator[];
  /** Who may call and what they may do, if it is not the default. */
  readonly security?: LoadedSecurity;
}

export type SecurityDeps = Required<Pick<ServiceAccountTokenDeps, "informers" | "catchUp">>;

const accountsOf = ({ security, signingKey: key }: SecurityOptions): AccountSettings =>
  security?.accounts(key) ?? {
    issuers: [defaultIssuer],
    audiences: [defaultIssuer],
    key,
    keys: [key],
    jwksUri: `${defaultIssuer}/openid/v1/jwks`,
    extendsExpiration: true,
  };

/** Authenticators and authorizers, each list in the order in which it is asked. */
export function assembleSecurity(options: SecurityOptions, { informers, catchUp }: SecurityDeps) {
  const { clock, tokens = [], security } = options;
  const settings = accountsOf(options);
  const { audiences } = settings;
  const uses = new LegacyTokenUses();
  const accounts = serviceAccountTokens({ informers, clock, uses, catchUp, ...settings });
  const before = [...tokens, ...(security?.staticTokens ?? [])];
  const allTokens = [...before, accounts, ...(security?.otherTokens({ informers, clock, audiences }) ?? [])];
  const rbac = createRbac({ informers });
  const loopback = createLoopback();
  const builtIn = { Node: createNodeAuthorizer({ informers, volumes: volumeRelations(informers) }), RBAC: rbac };
  const unknown = security ? security.anonymous : anonymous();
  return {
    accounts: settings,
    tokenUses: uses,
    tokens: allTokens,
    rbac,
    loopback: loopback.user,
    authenticators: [
      inProcess,
      ...(security?.frontProxy ? [security.frontProxy.authenticator] : []),
      clientCertificate,
      ...allTokens.map(bearer),
      ...(unknown ? [unknown] : []),
    ],
    authorizers: [loopback.authorizer, privileged, ...(security?.authorizers(builtIn) ?? [builtIn.Node, builtIn.RBAC])],
  };
}

export type AssembledSecurity = ReturnType<typeof assembleSecurity>;
