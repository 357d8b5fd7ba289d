/** Where the API is and who calls it: the result of resolving a kubeconfig context. */
export interface ClientConfig {
  /** `https://host:port`, optionally with a path before `/api`. */
  readonly server: string;
  readonly tls?: TlsConfig;
  readonly auth?: AuthConfig;
  readonly impersonate?: Impersonation;
  /** `http://` proxy that tunnels with CONNECT. */
  readonly proxyUrl?: string;
  readonly userAgent?: string;
  /** How long one request may take; watches and streams have no limit. Default 70 s: the server gives up after 60. */
  readonly timeoutMs?: number;
  /** Asks for gzip; worthwhile only over a slow network. */
  readonly compress?: boolean;
  /** Speaks HTTP/2 to a plain `http://` server without negotiation. */
  readonly http2PriorKnowledge?: boolean;
}

export interface TlsConfig {
  /** PEM; without it the system's roots are used. */
  readonly ca?: string;
  /** PEM of the client's certificate and key. */
  readonly cert?: string;
  readonly key?: string;
  /** The client's certificate for the next connection, if it is renewed while the client lives. */
  certificate?(): { readonly cert: string; readonly key: string };
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
}

export interface AuthConfig {
  readonly token?: string;
  /** Read again every minute. */
  readonly tokenFile?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly exec?: ExecConfig;
}

/** A program that prints an ExecCredential. */
export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: "Never" | "IfAvailable" | "Always";
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}
