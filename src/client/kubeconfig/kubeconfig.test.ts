import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inClusterConfig, loadKubeconfig, resolveContext } from "./kubeconfig.ts";
import { parseKubeconfig } from "./kubeconfig-file.ts";

const folder = () => mkdtempDisposable(join(tmpdir(), "kubeconfig-"));
const base64 = (text: string) => Buffer.from(text).toString("base64");

const first = `
apiVersion: v1
kind: Config
current-context: dev
contexts:
- name: dev
  context: { cluster: one, user: alice, namespace: team }
clusters:
- name: one
  cluster: { server: "https://one:6443/", certificate-authority: ca.pem }
users:
- name: alice
  user: { client-certificate-data: ${base64("CERT")}, client-key: key.pem }
`;
const second = JSON.stringify({
  "current-context": "prod",
  contexts: [
    { name: "dev", context: { cluster: "lost" } },
    { name: "prod", context: { cluster: "two", user: "bob" } },
  ],
  clusters: [{ name: "two", cluster: { server: "https://two", "insecure-skip-tls-verify": true } }],
  users: [{ name: "bob", user: { tokenFile: "token", as: "eve", "as-groups": ["g"] } }],
});

test("loadKubeconfig() merges the files of KUBECONFIG, and the first one wins", async () => {
  await using dir = await folder();
  await writeFile(join(dir.path, "a"), first);
  await writeFile(join(dir.path, "b"), second);
  await writeFile(join(dir.path, "ca.pem"), "CA");
  await writeFile(join(dir.path, "key.pem"), "KEY");
  const paths = ["a", "missing", "b"].map((name) => join(dir.path, name));

  const kubeconfig = await loadKubeconfig({ env: { KUBECONFIG: paths.join(":") } });
  const dev = await resolveContext(kubeconfig);
  const prod = await resolveContext(kubeconfig, { context: "prod" });

  assert.deepEqual(dev, {
    config: { server: "https://one:6443", tls: { ca: "CA", cert: "CERT", key: "KEY" } },
    namespace: "team",
    context: "dev",
  });
  assert.deepEqual(prod.config, {
    server: "https://two",
    tls: { insecureSkipVerify: true },
    auth: { tokenFile: join(dir.path, "token") },
    impersonate: { user: "eve", groups: ["g"], extra: {} },
  });
});

test("an explicitly named file must exist, a default one need not", async () => {
  await using dir = await folder();
  const path = join(dir.path, "none");

  await assert.rejects(loadKubeconfig({ path, env: {} }), /none: cannot be read: ENOENT/);
  const empty = await loadKubeconfig({ env: { HOME: dir.path } });
  await assert.rejects(resolveContext(empty), /no configuration found: looked in .*\.kube\/config/);
});

const broken = [
  { name: "is no YAML", text: "a: [", says: /^f: is neither YAML nor JSON/ },
  { name: "is a list", text: "- a", says: /^f: the file must be a mapping, got a list/ },
  { name: "is of another kind", text: "kind: Pod", says: /^f: kind must be Config, got "Pod"/ },
  {
    name: "has clusters that are not a list",
    text: "clusters: {}",
    says: /^f: clusters must be a list, got a mapping/,
  },
  {
    name: "has a server that is not a URL",
    text: "clusters: [{ name: a, cluster: { server: here } }]",
    says: /^f: clusters\[0\]\.cluster\.server must be a URL such as .*, got "here"/,
  },
  {
    name: "has a number for a token",
    text: "users: [{ name: a, user: { token: 7 } }]",
    says: /^f: users\[0\]\.user\.token must be a string, got 7/,
  },
  {
    name: "has bad base64",
    text: "users: [{ name: a, user: { client-key-data: '***' } }]",
    says: /^f: users\[0\]\.user\.client-key-data must be base64/,
  },
  {
    name: "has a credential program of an unknown version",
    text: "users: [{ name: a, user: { exec: { command: x, apiVersion: v9 } } }]",
    says: /^f: users\[0\]\.user\.exec\.apiVersion must be one of .*, got "v9"/,
  },
];
for (const { name, text, says } of broken) {
  test(`a kubeconfig that ${name} is refused, naming the field`, async () => {
    await assert.rejects(parseKubeconfig(text, "f"), { name: "KubeconfigError", message: says });
  });
}

test("a context with an unknown cluster or user is refused", async () => {
  const kubeconfig = await parseKubeconfig("contexts: [{ name: a, context: { cluster: x } }]", "f");

  await assert.rejects(resolveContext(kubeconfig), /no current-context is set/);
  await assert.rejects(resolveContext(kubeconfig, { context: "b" }), /context "b" does not exist/);
  await assert.rejects(resolveContext(kubeconfig, { context: "a" }), /cluster "x" of context "a" does not exist/);
});

test("inClusterConfig() reads the files of a pod, and is undefined elsewhere", async () => {
  await using dir = await folder();
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const outside = await inClusterConfig(env, dir.path);
  await writeFile(join(dir.path, "token"), "secret");
  await writeFile(join(dir.path, "ca.crt"), "CA");
  await writeFile(join(dir.path, "namespace"), "shop\n");

  assert.equal(outside, undefined);
  assert.equal(await inClusterConfig({}, dir.path), undefined);
  assert.deepEqual(await inClusterConfig(env, dir.path), {
    config: { server: "https://[fd00::1]:443", tls: { ca: "CA" }, auth: { tokenFile: join(dir.path, "token") } },
    namespace: "shop",
    context: "",
  });
});
