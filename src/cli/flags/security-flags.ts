import path from "node:path";
import { type AuthorizationOptions, type SecurityOptions } from "#cluster/security/options.ts";
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

export type SecurityValues = { readonly [flag in keyof typeof securityFlags]?: string | undefined };
type Values = SecurityValues;

/** Checks the flags and what they say together. Files are read when the server starts. */
export function securityOptions(values: Values): SecurityOptions {
  const tokenFile = values["token-auth-file"];
  return {
    tokenFile: tokenFile && path.resolve(tokenFile),
    anonymous: trueOrFalse(values["anonymous-auth"], "anonymous-auth"),
    bootstrapTokens: trueOrFalse(values["enable-bootstrap-token-auth"], "enable-bootstrap-token-auth") ?? false,
    tokenWebhook: tokenWebhookOptions(values),
    authorization: authorizationOptions(values),
  };
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

function reviewVersion(values: Values, flag: keyof Values): "v1" | "v1beta1" {
  const version = values[flag] ?? "v1beta1";
  if (version === "v1" || version === "v1beta1") return version;
  throw new UserError(`--${flag} must be v1 or v1beta1, not ${JSON.stringify(version)}`);
}

const ttl = (values: Values, flag: keyof Values, byDefault: string): number =>
  durationMilliseconds(values[flag] ?? byDefault, flag);
