/** Everything that one context needs, inline. */
export interface KubeconfigFacts {
  /** The name of the cluster and the context. */
  readonly name: string;
  readonly user: string;
  /** `https://host:port` */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** PEM of the client certificate and of its key, or a token. */
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  readonly namespace?: string;
}

/** A kubeconfig with a single context, which is the current one. */
export function renderKubeconfig(facts: KubeconfigFacts): string {
  const { name, user, server, certificateAuthority, certificate, key, token, namespace } = facts;
  const credentials = [
    ...(certificate ? [`    client-certificate-data: ${base64(certificate)}`] : []),
    ...(key ? [`    client-key-data: ${base64(key)}`] : []),
    ...(token ? [`    token: ${quoted(token)}`] : []),
  ];
  return `${[
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${quoted(name)}`,
    "  cluster:",
    `    certificate-authority-data: ${base64(certificateAuthority)}`,
    `    server: ${quoted(server)}`,
    "contexts:",
    `- name: ${quoted(name)}`,
    "  context:",
    `    cluster: ${quoted(name)}`,
    ...(namespace ? [`    namespace: ${quoted(namespace)}`] : []),
    `    user: ${quoted(user)}`,
    `current-context: ${quoted(name)}`,
    "users:",
    `- name: ${quoted(user)}`,
    ...(credentials.length > 0 ? ["  user:", ...credentials] : ["  user: {}"]),
  ].join("\n")}\n`;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Unquoted where YAML can only read it as this string. */
const quoted = (text: string): string =>
  /^[A-Za-z][\w./-]*(:[\w./-]+)*$/.test(text) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
    ? text
    : JSON.stringify(text);
