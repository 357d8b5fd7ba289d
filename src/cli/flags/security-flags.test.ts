import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFlags } from "../command.ts";
import { securityFlags, securityOptions } from "./security-flags.ts";

const parse = (line: string) => securityOptions(parseFlags(line.split(" ").filter(Boolean), securityFlags).values);

test("securityOptions() configures nothing unless it is asked to", () => {
  const { issuers, tokenWebhook, frontProxy, authorization, bootstrapTokens, anonymous } = parse("");

  assert.deepEqual(
    { issuers, tokenWebhook, frontProxy, authorization, bootstrapTokens, anonymous },
    {
      issuers: undefined,
      tokenWebhook: undefined,
      frontProxy: undefined,
      authorization: undefined,
      bootstrapTokens: true,
      anonymous: undefined,
    },
  );
});

test("securityOptions() reads flags that are true or false in each of their spellings", () => {
  assert.equal(parse("--enable-bootstrap-token-auth").bootstrapTokens, true);
  assert.equal(parse("--enable-bootstrap-token-auth=false").bootstrapTokens, false);
  assert.equal(parse("--anonymous-auth false --enable-bootstrap-token-auth").anonymous, false);
});

test("securityOptions() puts the issuer before names, as upstream, unless they are addresses of mail", () => {
  const prefixOf = (line: string) => {
    const { issuers } = parse(`--oidc-issuer-url https://i.test --oidc-client-id c ${line}`);
    return issuers && "usernamePrefix" in issuers ? issuers.usernamePrefix : undefined;
  };

  assert.equal(prefixOf(""), "https://i.test#");
  assert.equal(prefixOf("--oidc-username-claim email"), "");
  assert.equal(prefixOf("--oidc-username-prefix -"), "");
  assert.equal(prefixOf("--oidc-username-prefix=x:"), "x:");
});

const wrong: readonly (readonly [line: string, message: RegExp])[] = [
  ["--anonymous-auth=maybe", /--anonymous-auth must be true or false, not "maybe"/],
  ["--oidc-client-id c", /^--oidc-client-id needs --oidc-issuer-url$/],
  ["--oidc-issuer-url https://i", /^--oidc-issuer-url needs --oidc-client-id$/],
  ["--oidc-ca-file a", /^--oidc-ca-file needs --oidc-issuer-url and --oidc-client-id$/],
  ["--oidc-issuer-url=", /^--oidc-issuer-url must not be empty$/],
  ["--requestheader-client-ca-file a", /^--requestheader-client-ca-file needs --requestheader-username-headers$/],
  ["--requestheader-username-headers X", /^--requestheader-username-headers needs --requestheader-client-ca-file$/],
  ["--oidc-issuer-url https://i --oidc-client-id c --oidc-signing-algs HS256", /--oidc-signing-algs must list some of/],
  ["--oidc-issuer-url https://i --oidc-client-id c --oidc-required-claim a", /must be CLAIM=VALUE, not "a"/],
  ["--authentication-config a --oidc-client-id c", /--authentication-config excludes --oidc-client-id/],
  ["--authorization-mode RBAC,RBAC", /lists RBAC twice/],
  ["--authorization-mode PBAC", /must list some of .*, not "PBAC"/],
  ["--authorization-mode ABAC", /--authorization-mode ABAC needs --authorization-policy-file FILE/],
  ["--authorization-policy-file a", /--authorization-policy-file needs --authorization-mode with ABAC/],
  ["--authorization-mode Webhook", /needs --authorization-webhook-config-file/],
  ["--authorization-webhook-config-file a", /needs --authorization-mode with Webhook/],
  ["--authorization-config a --authorization-mode RBAC", /--authorization-config excludes --authorization-mode/],
  ["--authentication-token-webhook-config-file a --authentication-token-webhook-version v2", /must be v1 or v1beta1/],
  ["--authentication-token-webhook-config-file a --authentication-token-webhook-cache-ttl x", /must be a duration/],
  ["--requestheader-group-headers X-Remote-Group", /needs --requestheader-client-ca-file/],
  ["--requestheader-client-ca-file a --requestheader-username-headers X:Y", /must list names of headers, not "X:Y"/],
  ["--service-account-issuer a --service-account-issuer a", /"a" is there twice/],
  ["--service-account-jwks-uri http://a", /must be an https URL/],
  ["--service-account-max-token-expiration 5m", /must be at least 1h/],
];
for (const [line, message] of wrong) {
  test(`securityOptions() refuses ${line}`, () => assert.throws(() => parse(line), { name: "UserError", message }));
}
