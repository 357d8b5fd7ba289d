import path from "node:path";
import { type AuthorizationOptions, type IssuerOptions, type SecurityOptions } from "#cluster/security/options.ts";
import { durationMilliseconds, listOf, trueOrFalse, UserError } from "../command.ts";

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
    help: "accept the tokens in Secrets of type bootstrap.kubernetes.io/token in kube-system",
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
  "authorization-mode": {
    type: "string",
    value: "LIST",
    help: "authorisers in order: AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook; default Node,RBAC",
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
type TextFlag = Exclude<keyof Values, "oidc-required-claim">;

/** Checks the flags and what they say together. Files are read when the server starts. */
export function securityOptions(values: Values): SecurityOptions {
  const tokenFile = values["token-auth-file"];
  return {
    tokenFile: tokenFile && path.resolve(tokenFile),
    anonymous: trueOrFalse(values["anonymous-auth"], "anonymous-auth"),
    bootstrapTokens: trueOrFalse(values["enable-bootstrap-token-auth"], "enable-bootstrap-token-auth") ?? false,
    tokenWebhook: tokenWebhookOptions(values),
    issuers: issuerOptions(values),
    authorization: authorizationOptions(values),
  };
}

const oidcFlags = Object.keys(securityFlags).filter((flag): flag is keyof Values => flag.startsWith("oidc-"));
const algorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"];

function issuerOptions(values: Values): IssuerOptions | undefined {
  const configFile = values["authentication-config"];
  const used = oidcFlags.find((flag) => values[flag] !== undefined);
  if (configFile) {
    if (used) throw new UserError(`--authentication-config excludes --${used}: put what it says into the file`);
    return { configFile: path.resolve(configFile) };
  }
  if (!used) return undefined;
  const { "oidc-issuer-url": issuerUrl, "oidc-client-id": clientId, "oidc-ca-file": caFile } = values;
  if (!issuerUrl || !clientId) throw new UserError(`--${used} needs both --oidc-issuer-url and --oidc-client-id`);
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

const webhookFlags = [
  "authorization-webhook-config-file",
  "authorization-webhook-version",
  "authorization-webhook-cache-authorized-ttl",
  "authorization-webhook-cache-unauthorized-ttl",
] as const;
const modes = ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];

function authorizationOptions(values: Values): AuthorizationOptions | undefined {
  const configFile = values["authorization-config"];
  const listed = values["authorization-mode"];
  const used = webhookFlags.find((flag) => values[flag] !== undefined);
  if (configFile) {
    const other = listed === undefined ? used : "authorization-mode";
    if (other) throw new UserError(`--authorization-config excludes --${other}: put what it says into the file`);
    return { configFile: path.resolve(configFile) };
  }
  if (listed === undefined && !used) return undefined;
  const chosen = listOf(listed ?? "Node,RBAC");
  checkModes(chosen);
  const file = values["authorization-webhook-config-file"];
  if (chosen.includes("Webhook") && !file) {
    throw new UserError("--authorization-mode Webhook needs --authorization-webhook-config-file FILE");
  }
  if (!chosen.includes("Webhook") && used) throw new UserError(`--${used} needs --authorization-mode with Webhook`);
  if (!file) return { modes: chosen };
  return {
    modes: chosen,
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
