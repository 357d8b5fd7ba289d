import path from "node:path";
import type {
  AccountOptions,
  AuthorizationOptions,
  IssuerOptions,
  SecurityOptions,
} from "#cluster/security/options.ts";
import { durationMilliseconds, durationSeconds, listOf, trueOrFalse, UserError } from "../command.ts";

/** Upstream's flags for authentication and authorisation, for the commands that start a server. */
export const securityFlags = {
  "token-auth-file": {
    type: "string",
    value: "FILE",
    help: 'static tokens, one per line: token,user,uid,"group1,group2"',
  },
  "anonymous-auth": { type: "string", value: "BOOL", help: "accept requests without a credential; default true" },
  "enable-bootstrap-token-auth": {
    type: "string",
    value: "BOOL",
    help: "accept the tokens by which machines join: Secrets of type bootstrap.kubernetes.io/token in kube-system; default true",
  },
  "authentication-token-webhook-config-file": {
    type: "string",
    value: "FILE",
    help: "kubeconfig of a server that is asked whose a token is",
  },
  "authentication-token-webhook-version": {
    type: "string",
    value: "VERSION",
    help: "version of its TokenReviews: v1 or v1beta1, which is the default",
  },
  "authentication-token-webhook-cache-ttl": {
    type: "string",
    value: "DURATION",
    help: "how long its answers are remembered; default 2m",
  },
  "oidc-issuer-url": { type: "string", value: "URL", help: "the issuer of OpenID Connect tokens; https" },
  "oidc-client-id": { type: "string", value: "ID", help: "the audience that its tokens must be for" },
  "oidc-ca-file": {
    type: "string",
    value: "FILE",
    help: "certificates that verify the issuer; default: those of the system",
  },
  "oidc-username-claim": { type: "string", value: "CLAIM", help: "the claim with the user's name; default sub" },
  "oidc-username-prefix": {
    type: "string",
    value: "TEXT",
    help: "put before the name; - for nothing; default: the issuer and #, except for email",
  },
  "oidc-groups-claim": { type: "string", value: "CLAIM", help: "the claim with the user's groups" },
  "oidc-groups-prefix": { type: "string", value: "TEXT", help: "put before each group" },
  "oidc-signing-algs": { type: "string", value: "LIST", help: "algorithms of its signatures; default RS256" },
  "oidc-required-claim": {
    type: "string",
    multiple: true,
    value: "CLAIM=VALUE",
    help: "a claim that its tokens must have; may be repeated",
  },
  "authentication-config": {
    type: "string",
    value: "FILE",
    help: "AuthenticationConfiguration with issuers and anonymous access; it is read again when it changes",
  },
  "requestheader-client-ca-file": {
    type: "string",
    value: "FILE",
    help: "authorities whose certificates make a front proxy, which says who its callers are",
  },
  "requestheader-allowed-names": {
    type: "string",
    value: "LIST",
    help: "common names of front proxies; by default, all with a certificate of their authority",
  },
  "requestheader-username-headers": { type: "string", value: "LIST", help: "headers with the name, as X-Remote-User" },
  "requestheader-uid-headers": { type: "string", value: "LIST", help: "headers with the uid, as X-Remote-Uid" },
  "requestheader-group-headers": { type: "string", value: "LIST", help: "headers with groups, as X-Remote-Group" },
  "requestheader-extra-headers-prefix": {
    type: "string",
    value: "LIST",
    help: "beginnings of headers with further facts, as X-Remote-Extra-",
  },
  "service-account-issuer": {
    type: "string",
    multiple: true,
    value: "URL",
    help: "issuer of service-account tokens; the first one of several issues, all are accepted",
  },
  "service-account-signing-key-file": {
    type: "string",
    value: "FILE",
    help: "private key that signs them; default: one that the server makes",
  },
  "service-account-key-file": {
    type: "string",
    multiple: true,
    value: "FILE",
    help: "further keys whose tokens are accepted; may be repeated",
  },
  "service-account-jwks-uri": { type: "string", value: "URL", help: "where others find the keys; https" },
  "service-account-max-token-expiration": {
    type: "string",
    value: "DURATION",
    help: "longest life of a token that is asked for; at least 1h",
  },
  "service-account-extend-token-expiration": {
    type: "string",
    value: "BOOL",
    help: "let tokens in pods live for a year, for programs that never reload them; default true",
  },
  "api-audiences": { type: "string", value: "LIST", help: "audiences of the API server; default: the issuers" },
  "authorization-mode": {
    type: "string",
    value: "LIST",
    help: "authorisers in order: ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook; default Node,RBAC",
  },
  "authorization-policy-file": {
    type: "string",
    value: "FILE",
    help: "policies of the authoriser ABAC, one per line, as JSON",
  },
  "authorization-webhook-config-file": {
    type: "string",
    value: "FILE",
    help: "kubeconfig of a server that is asked what a user may do",
  },
  "authorization-webhook-version": {
    type: "string",
    value: "VERSION",
    help: "version of its SubjectAccessReviews: v1 or v1beta1, which is the default",
  },
  "authorization-webhook-cache-authorized-ttl": {
    type: "string",
    value: "DURATION",
    help: "how long its permissions are remembered; default 5m",
  },
  "authorization-webhook-cache-unauthorized-ttl": {
    type: "string",
    value: "DURATION",
    help: "how long its refusals are remembered; default 30s",
  },
  "authorization-config": {
    type: "string",
    value: "FILE",
    help: "AuthorizationConfiguration with the authorisers; it is read again when it changes",
  },
} as const;

/** The values of the flags, as they are parsed. */
export type SecurityValues = {
  readonly [flag in keyof typeof securityFlags]?:
    | ((typeof securityFlags)[flag] extends { multiple: true } ? readonly string[] : string)
    | undefined;
};
type Values = SecurityValues;
type TextFlag = { [flag in keyof Values]: Values[flag] extends string | undefined ? flag : never }[keyof Values] &
  string;

/** Checks the flags and what they say together. Files are read when the server starts. */
export function securityOptions(values: Values): SecurityOptions {
  const tokenFile = values["token-auth-file"];
  return {
    tokenFile: tokenFile && path.resolve(tokenFile),
    anonymous: trueOrFalse(values["anonymous-auth"], "anonymous-auth"),
    bootstrapTokens: trueOrFalse(values["enable-bootstrap-token-auth"], "enable-bootstrap-token-auth") ?? true,
    tokenWebhook: tokenWebhookOptions(values),
    issuers: issuerOptions(values),
    frontProxy: frontProxyOptions(values),
    accounts: accountOptions(values),
    authorization: authorizationOptions(values),
  };
}

const oidcFlags = Object.keys(securityFlags).filter((flag): flag is keyof Values => flag.startsWith("oidc-"));
const algorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"];

function issuerOptions(values: Values): IssuerOptions | undefined {
  const configFile = values["authentication-config"];
  const given = oidcFlags.filter((flag) => values[flag] !== undefined);
  const [used] = given;
  if (configFile) {
    if (used) throw new UserError(`--authentication-config excludes --${used}: put what it says into the file`);
    return { configFile: path.resolve(configFile) };
  }
  if (!used) return undefined;
  const { "oidc-issuer-url": issuerUrl, "oidc-client-id": clientId, "oidc-ca-file": caFile } = values;
  if (!issuerUrl || !clientId) throw lacking(values, given, ["oidc-issuer-url", "oidc-client-id"]);
  const usernameClaim = values["oidc-username-claim"] ?? "sub";
  return {
    issuerUrl,
    clientId,
    caFile: caFile && path.resolve(caFile),
    usernameClaim,
    usernamePrefix: usernamePrefix(values["oidc-username-prefix"], usernameClaim, issuerUrl),
    groupsClaim: values["oidc-groups-claim"],
    groupsPrefix: values["oidc-groups-prefix"] ?? "",
    algorithms: signingAlgorithms(values["oidc-signing-algs"]),
    requiredClaims: Object.fromEntries((values["oidc-required-claim"] ?? []).map(requiredClaim)),
  };
}

/** Flags that make no sense without others: the error names those that are missing. */
function lacking(values: Values, given: readonly string[], needed: readonly TextFlag[]): UserError {
  const missing = needed.filter((flag) => !values[flag]);
  const used = given.find((flag) => !missing.some((one) => one === flag));
  if (used === undefined) return new UserError(`--${given[0]} must not be empty`);
  return new UserError(`--${used} needs ${missing.map((flag) => `--${flag}`).join(" and ")}`);
}

/** Names of different issuers differ by default; addresses of mail do so by themselves. */
function usernamePrefix(given: string | undefined, claim: string, issuerUrl: string): string {
  if (given) return given === "-" ? "" : given;
  return claim === "email" ? "" : `${issuerUrl}#`;
}

function signingAlgorithms(text: string | undefined): readonly string[] {
  const chosen = text === undefined ? ["RS256"] : listOf(text);
  const wrong = chosen.find((name) => !algorithms.includes(name));
  if (wrong === undefined && chosen.length > 0) return chosen;
  throw new UserError(
    `--oidc-signing-algs must list some of ${algorithms.join(", ")}, not ${JSON.stringify(wrong ?? "")}`,
  );
}

function requiredClaim(text: string): [claim: string, value: string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UserError(`--oidc-required-claim must be CLAIM=VALUE, not ${JSON.stringify(text)}`);
}

function tokenWebhookOptions(values: Values): SecurityOptions["tokenWebhook"] {
  const file = values["authentication-token-webhook-config-file"];
  if (!file) return undefined;
  return {
    configFile: path.resolve(file),
    version: reviewVersion(values, "authentication-token-webhook-version"),
    ttlMs: ttl(values, "authentication-token-webhook-cache-ttl", "2m"),
  };
}

function accountOptions(values: Values): AccountOptions {
  const { "service-account-issuer": issuers = [], "service-account-jwks-uri": jwksUri } = values;
  const twice = issuers.find((issuer, index) => issuers.indexOf(issuer) < index);
  if (twice !== undefined) throw new UserError(`--service-account-issuer ${JSON.stringify(twice)} is there twice`);
  const wrong = issuers.find((issuer) => issuer === "" || (issuer.includes(":") && !URL.canParse(issuer)));
  if (wrong !== undefined) throw new UserError(`--service-account-issuer must be a URL, not ${JSON.stringify(wrong)}`);
  if (jwksUri !== undefined && !/^https:\/\/./.test(jwksUri)) {
    throw new UserError(`--service-account-jwks-uri must be an https URL, not ${JSON.stringify(jwksUri)}`);
  }
  const longest = values["service-account-max-token-expiration"];
  const extend = "service-account-extend-token-expiration";
  const signingKeyFile = values["service-account-signing-key-file"];
  return {
    issuers,
    audiences: listOf(values["api-audiences"] ?? ""),
    signingKeyFile: signingKeyFile && path.resolve(signingKeyFile),
    keyFiles: (values["service-account-key-file"] ?? []).map((file) => path.resolve(file)),
    jwksUri,
    maxExpirationSeconds: longest === undefined ? undefined : longestLife(longest),
    extendsExpiration: trueOrFalse(values[extend], extend),
  };
}

/** Upstream's bounds: tokens must live for an hour at least, and no longer than 2^32 seconds. */
function longestLife(text: string): number {
  const flag = "service-account-max-token-expiration";
  const seconds = durationSeconds(text, flag);
  if (seconds >= 3600 && seconds <= 2 ** 32) return seconds;
  throw new UserError(`--${flag} must be at least 1h, not ${JSON.stringify(text)}`);
}

function frontProxyOptions(values: Values): SecurityOptions["frontProxy"] {
  const caFile = values["requestheader-client-ca-file"];
  const given = Object.keys(securityFlags).filter(
    (flag) => flag.startsWith("requestheader-") && values[flag as TextFlag] !== undefined,
  );
  if (given.length === 0) return undefined;
  const usernameHeaders = headerNames(values, "requestheader-username-headers");
  if (!caFile || usernameHeaders.length === 0) {
    throw lacking(values, given, ["requestheader-client-ca-file", "requestheader-username-headers"]);
  }
  return {
    caFile: path.resolve(caFile),
    usernameHeaders,
    uidHeaders: headerNames(values, "requestheader-uid-headers"),
    groupHeaders: headerNames(values, "requestheader-group-headers"),
    extraPrefixes: headerNames(values, "requestheader-extra-headers-prefix"),
    allowedNames: listOf(values["requestheader-allowed-names"] ?? ""),
  };
}

function headerNames(values: Values, flag: TextFlag): string[] {
  const names = listOf(values[flag] ?? "");
  const wrong = names.find((name) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name));
  if (wrong === undefined) return names;
  throw new UserError(`--${flag} must list names of headers, not ${JSON.stringify(wrong)}`);
}

const webhookFlags = [
  "authorization-webhook-config-file",
  "authorization-webhook-version",
  "authorization-webhook-cache-authorized-ttl",
  "authorization-webhook-cache-unauthorized-ttl",
] as const;
const modes = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];

function authorizationOptions(values: Values): AuthorizationOptions | undefined {
  const configFile = values["authorization-config"];
  const listed = values["authorization-mode"];
  const used = webhookFlags.find((flag) => values[flag] !== undefined);
  const policyFile = values["authorization-policy-file"];
  const policy = policyFile ? { policyFile: path.resolve(policyFile) } : {};
  if (configFile) {
    const other = listed === undefined ? used : "authorization-mode";
    if (other) throw new UserError(`--authorization-config excludes --${other}: put what it says into the file`);
    return { configFile: path.resolve(configFile), ...policy };
  }
  if (listed === undefined && !used && !policyFile) return undefined;
  const chosen = listOf(listed ?? "Node,RBAC");
  checkModes(chosen);
  if (chosen.includes("ABAC") !== Boolean(policyFile)) {
    const [one, other] = policyFile ? ["policy-file", "mode with ABAC"] : ["mode ABAC", "policy-file FILE"];
    throw new UserError(`--authorization-${one} needs --authorization-${other}`);
  }
  const file = values["authorization-webhook-config-file"];
  if (chosen.includes("Webhook") && !file) {
    throw new UserError("--authorization-mode Webhook needs --authorization-webhook-config-file FILE");
  }
  if (!chosen.includes("Webhook") && used) throw new UserError(`--${used} needs --authorization-mode with Webhook`);
  if (!file) return { modes: chosen, ...policy };
  return {
    modes: chosen,
    ...policy,
    webhook: {
      configFile: path.resolve(file),
      version: reviewVersion(values, "authorization-webhook-version"),
      allowedTtlMs: ttl(values, "authorization-webhook-cache-authorized-ttl", "5m"),
      refusedTtlMs: ttl(values, "authorization-webhook-cache-unauthorized-ttl", "30s"),
    },
  };
}

function checkModes(chosen: readonly string[]): void {
  const wrong = chosen.find((mode) => !modes.includes(mode));
  if (wrong !== undefined || chosen.length === 0) {
    throw new UserError(
      `--authorization-mode must list some of ${modes.join(", ")}, not ${JSON.stringify(wrong ?? "")}`,
    );
  }
  const twice = chosen.find((mode, index) => chosen.indexOf(mode) < index);
  if (twice) throw new UserError(`--authorization-mode lists ${twice} twice`);
}

function reviewVersion(values: Values, flag: TextFlag): "v1" | "v1beta1" {
  const version = values[flag] ?? "v1beta1";
  if (version === "v1" || version === "v1beta1") return version;
  throw new UserError(`--${flag} must be v1 or v1beta1, not ${JSON.stringify(version)}`);
}

const ttl = (values: Values, flag: TextFlag, byDefault: string): number =>
  durationMilliseconds(values[flag] ?? byDefault, flag);
