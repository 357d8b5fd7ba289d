import type { RequestHeaderOptions } from "#server/authenticate/request-header.ts";

/** Who may call the API server and what they may do: upstream's flags, parsed. Nothing is set by default. */
export interface SecurityOptions {
  /** `--token-auth-file`: static tokens, one per line. */
  readonly tokenFile?: string | undefined;
  readonly anonymous?: boolean | undefined;
  readonly bootstrapTokens?: boolean;
  readonly tokenWebhook?: TokenWebhookOptions | undefined;
  readonly issuers?: IssuerOptions | undefined;
  readonly frontProxy?: FrontProxyOptions | undefined;
  readonly accounts?: AccountOptions;
  readonly authorization?: AuthorizationOptions | undefined;
}

export interface TokenWebhookOptions {
  readonly configFile: string;
  readonly version: "v1" | "v1beta1";
  readonly ttlMs: number;
}

/** `--service-account-…` and `--api-audiences` */
export interface AccountOptions {
  readonly issuers?: readonly string[];
  /** The audiences of the API server; by default, the issuers. */
  readonly audiences?: readonly string[];
  readonly signingKeyFile?: string | undefined;
  /** Further keys whose tokens are accepted. */
  readonly keyFiles?: readonly string[];
  readonly jwksUri?: string | undefined;
  readonly maxExpirationSeconds?: number | undefined;
  readonly extendsExpiration?: boolean | undefined;
}

/** `--requestheader-…` */
export interface FrontProxyOptions extends RequestHeaderOptions {
  readonly caFile: string;
}

/** One issuer of OpenID Connect from flags, or the file that describes several and is read again when it changes. */
export type IssuerOptions = OidcOptions | { readonly configFile: string };

/** `--oidc-…` */
export interface OidcOptions {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly caFile?: string | undefined;
  readonly usernameClaim: string;
  /** Already with what upstream puts there by default. */
  readonly usernamePrefix: string;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix: string;
  readonly algorithms: readonly string[];
  readonly requiredClaims: Readonly<Record<string, string>>;
}

/** A chain from flags, or the file that describes one and is read again when it changes. */
export type AuthorizationOptions = (
  | { readonly modes: readonly string[]; readonly webhook?: AuthorizationWebhookOptions }
  | { readonly configFile: string }
) & {
  /** The policies of mode ABAC. */
  readonly policyFile?: string | undefined;
};

export interface AuthorizationWebhookOptions {
  readonly configFile: string;
  readonly version: "v1" | "v1beta1";
  readonly allowedTtlMs: number;
  readonly refusedTtlMs: number;
}
