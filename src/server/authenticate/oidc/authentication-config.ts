import { X509Certificate } from "node:crypto";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";
import { root } from "#schema/field-error.ts";
import { embedded, nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, list, string } from "#schema/types.ts";
import { type ConfigKind } from "#server/config/config-file.ts";

const object = inPackage("apiserver.config.k8s.io/v1");

const Issuer = object("Issuer", "Who issues the tokens.", {
  url: optional(1, string(), "The `iss` claim of the tokens, an https URL."),
  discoveryURL: optional(2, string(), "Where the configuration is fetched, if it is not below the URL."),
  certificateAuthority: optional(3, string(), "Certificates in PEM that verify the issuer; default: the system's."),
  audiences: optional(4, list(string()), "The `aud` claim must have one of these."),
  audienceMatchPolicy: optional(5, string(), "MatchAny; required for several audiences."),
  egressSelectorType: optional(6, string(), "Which proxy to use. There are none here."),
});
interface Issuer extends Infer<typeof Issuer> {}

const PrefixedClaim = object("PrefixedClaimOrExpression", "Where a value comes from.", {
  claim: optional(1, string(), "Claim that has the value."),
  prefix: nullable(2, string(), "Put before the value; required with a claim, may be empty."),
  expression: optional(3, string(), "CEL expression for the value."),
});
interface PrefixedClaim extends Infer<typeof PrefixedClaim> {}

const ExtraMapping = object("ExtraMapping", "One extra of the user.", {
  key: optional(1, string(), "Name of the extra, with a domain: example.org/team."),
  valueExpression: optional(2, string(), "CEL expression for its values."),
});

const ClaimMappings = object("ClaimMappings", "How claims become a user.", {
  username: embedded(1, PrefixedClaim, "Name of the user."),
  groups: embedded(2, PrefixedClaim, "Groups of the user."),
  uid: object.embedded(3, "ClaimOrExpression", "UID of the user.", {
    claim: optional(1, string(), "Claim that has the UID."),
    expression: optional(2, string(), "CEL expression for the UID."),
  }),
  extra: optional(4, list(ExtraMapping), "Further facts about the user."),
});
interface ClaimMappings extends Infer<typeof ClaimMappings> {}

const ClaimValidationRule = object("ClaimValidationRule", "What a claim must be.", {
  claim: optional(1, string(), "Claim that is checked."),
  requiredValue: optional(2, string(), "Value that it must have."),
  expression: optional(3, string(), "CEL expression that must be true."),
  message: optional(4, string(), "Error if it is not."),
});
interface ClaimValidationRule extends Infer<typeof ClaimValidationRule> {}

const JwtAuthenticator = object("JWTAuthenticator", "An issuer of tokens and what they mean.", {
  issuer: embedded(1, Issuer),
  claimValidationRules: optional(2, list(ClaimValidationRule), "Rules that the claims must meet."),
  claimMappings: embedded(3, ClaimMappings),
  userValidationRules: optional(
    4,
    list(
      object("UserValidationRule", "What a user must be.", {
        expression: optional(1, string(), "CEL expression that must be true."),
        message: optional(2, string(), "Error if it is not."),
      }),
    ),
    "Rules that the user must meet.",
  ),
});
export interface JwtAuthenticator extends Infer<typeof JwtAuthenticator> {}

const AuthenticationConfiguration = object("AuthenticationConfiguration", "How callers are identified.", {
  apiVersion: optional(1, string(), "Version of this file."),
  kind: optional(2, string(), "AuthenticationConfiguration."),
  jwt: optional(3, list(JwtAuthenticator), "Issuers whose tokens are accepted."),
  anonymous: object.nullable(4, "AnonymousAuthConfig", "Whether requests without a credential are accepted.", {
    enabled: optional(1, boolean(), "Whether they are."),
    conditions: optional(
      2,
      list(
        object("AnonymousAuthCondition", "A path that is open to everybody.", {
          path: optional(1, string(), "The path, exactly."),
        }),
      ),
      "Only these paths.",
    ),
  }),
});
export interface AuthenticationConfiguration extends Infer<typeof AuthenticationConfiguration> {}

const maxIssuers = 64;

/** The file of `--authentication-config`. The issuers of service accounts cannot be used a second time. */
export const authenticationConfig = (taken: readonly string[]): ConfigKind<AuthenticationConfiguration> => ({
  kind: "AuthenticationConfiguration",
  apiVersions: ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`),
  schema: AuthenticationConfiguration,
  validate(at) {
    if ((at.value.jwt?.length ?? 0) > maxIssuers) return at.field("jwt").tooMany(at.value.jwt?.length ?? 0, maxIssuers);
    const seen = { urls: new Set<string>(), discovery: new Set<string>() };
    at.each("jwt", (at) => {
      validateJwt(at, taken);
      at.field("issuer").set("url")?.unique(seen.urls);
      at.field("issuer").set("discoveryURL")?.unique(seen.discovery);
    });
    at.on("anonymous", (at) => {
      const { enabled, conditions = [] } = at.value;
      if (enabled || conditions.length === 0) return;
      at.field("conditions").invalid("enabled should be set to true when conditions are defined");
    });
  },
  async faults({ jwt = [] }) {
    if (!jwt.some(hasExpressions)) return [];
    const { expressionFaults } = await import("./claim-expressions.ts");
    return jwt.flatMap((config, index) => expressionFaults(config, root.child("jwt").index(index)));
  },
});

/** What needs the compiler of expressions. */
export function hasExpressions(config: JwtAuthenticator): boolean {
  const { claimMappings, claimValidationRules = [], userValidationRules = [] } = config;
  const { username, groups, uid, extra = [] } = claimMappings;
  const rules = claimValidationRules.some(({ expression }) => expression) || userValidationRules.length > 0;
  return rules || extra.length > 0 || Boolean(username.expression || groups.expression || uid.expression);
}

function validateJwt(at: Cursor<JwtAuthenticator>, taken: readonly string[]): void {
  validateIssuer(at.field("issuer"), taken);
  const seen = { claims: new Set<string>(), expressions: new Set<string>() };
  const seenByUsers = new Set<string>();
  at.each("claimValidationRules", (at) => validateRule(at, seen));
  validateMappings(at.field("claimMappings"));
  at.each("userValidationRules", (at) => {
    if (!at.field("expression").value) at.field("expression").missing();
    else at.field("expression").unique(seenByUsers);
  });
}

function validateIssuer(at: Cursor<Issuer>, taken: readonly string[]): void {
  const { url = "", discoveryURL, certificateAuthority } = at.value;
  if (!url) at.field("url").missing();
  else validateUrl(at.field("url").as(url), taken);
  if (discoveryURL) {
    const place = at.field("discoveryURL").as(discoveryURL);
    if (trimEndOf(url, "/") === trimEndOf(discoveryURL, "/")) place.invalid("discoveryURL must be different from URL");
    validateUrl(place, []);
  }
  validateAudiences(at);
  if (certificateAuthority) validateCertificates(at.field("certificateAuthority"), certificateAuthority);
  at.set("egressSelectorType")?.invalid("there are no egress proxies: remove the field");
}

function validateUrl(at: Cursor<string>, taken: readonly string[]): void {
  if (taken.includes(at.value)) at.invalid(`URL must not overlap with disallowed issuers: [${taken.join(" ")}]`);
  if (!URL.canParse(at.value)) return at.invalid("is not a URL");
  const { protocol, username, password, search, hash } = new URL(at.value);
  if (protocol !== "https:") at.invalid("URL scheme must be https");
  if (username || password) at.invalid("URL must not contain a username or password");
  if (search) at.invalid("URL must not contain a query");
  if (hash) at.invalid("URL must not contain a fragment");
}

function validateAudiences(at: Cursor<Issuer>): void {
  const { audiences = [], audienceMatchPolicy = "" } = at.value;
  if (audiences.length === 0) {
    return at.field("audiences").missing(`at least one ${at.field("audiences")} is required`);
  }
  const seen = new Set<string>();
  at.each("audiences", (at) => {
    if (!at.value) at.missing();
    at.unique(seen);
  });
  if (audienceMatchPolicy === "MatchAny" || (audiences.length === 1 && !audienceMatchPolicy)) return;
  const one = "audienceMatchPolicy must be empty or MatchAny for single audience";
  const several = "audienceMatchPolicy must be MatchAny for multiple audiences";
  at.field("audienceMatchPolicy").invalid(audiences.length === 1 ? one : several, audienceMatchPolicy);
}

function validateCertificates(at: Cursor, pem: string): void {
  try {
    new X509Certificate(pem);
  } catch (error) {
    at.invalid(`has no certificate in PEM: ${messageOf(error)}`, "<omitted>");
  }
}

function validateRule(
  at: Cursor<ClaimValidationRule>,
  seen: { readonly claims: Set<string>; readonly expressions: Set<string> },
): void {
  const { claim, expression, message, requiredValue } = at.value;
  if (claim && expression) return at.invalid("claim and expression can't both be set", claim);
  if (expression) {
    if (requiredValue) at.field("requiredValue").invalid("may not be specified when expression is set");
    return at.field("expression").as(expression).unique(seen.expressions);
  }
  if (!claim) return at.missing("claim or expression is required");
  if (message) at.field("message").invalid("may not be specified when claim is set");
  at.field("claim").as(claim).unique(seen.claims);
}

function validateMappings(at: Cursor<ClaimMappings>): void {
  const { username, uid } = at.value;
  if (!username.claim && !username.expression) at.field("username").missing("claim or expression is required");
  validatePrefixed(at.field("username"));
  validatePrefixed(at.field("groups"));
  if (uid.claim && uid.expression) at.field("uid").invalid("claim and expression can't both be set", "");
  const keys = new Set<string>();
  at.each("extra", (at) => validateExtra(at, keys));
}

function validatePrefixed(at: Cursor<PrefixedClaim>): void {
  const { claim, prefix, expression } = at.value;
  if (claim && expression) return at.invalid("claim and expression can't both be set", "");
  if (expression && prefix !== undefined) at.field("prefix").invalid("may not be specified when expression is set");
  if (claim && prefix === undefined) {
    const detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
    at.field("prefix").missing(detail);
  }
}

interface ExtraMapping extends Infer<typeof ExtraMapping> {}

const pathPattern = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

function validateExtra(at: Cursor<ExtraMapping>, keys: Set<string>): void {
  const { key = "", valueExpression } = at.value;
  const place = at.field("key").as(key);
  validateExtraKey(place);
  place.unique(keys);
  if (!valueExpression) at.field("valueExpression").missing();
}

function validateExtraKey(at: Cursor<string>): void {
  const { value: key } = at;
  if (!key) return at.missing();
  const slash = key.indexOf("/");
  const [host, path] = [key.slice(0, slash), key.slice(slash + 1)];
  if (slash < 1 || !path) return at.invalid('must be a domain-prefixed path (such as "acme.io/foo")');
  const fault = dns1123Subdomain(host);
  if (fault) at.invalid(fault, host);
  if (!pathPattern.test(path)) at.invalid(`Invalid path (regex used for validation is '${pathPattern.source}')`, path);
  if (key !== key.toLowerCase()) at.invalid("must be lowercase");
  if (/(?:^|\.)(?:kubernetes|k8s)\.io$/.test(host)) {
    at.invalid("k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
  }
}
