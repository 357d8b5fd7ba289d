import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { loadCredentialPlugins } from "#cluster/kubelet-config/credential-providers.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { CredentialPlugins } from "./credential-plugins.ts";

let dir = "";
before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "orlop-credentials-"));
});
after(() => rm(dir, { recursive: true }));

/** A plugin that writes down each request, and answers with this. */
async function install(name: string, answer: unknown, exitCode = 0): Promise<void> {
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  await writeFile(`${dir}/${name}.json`, text);
  const script = `#!/bin/sh\ncat >> "${dir}/${name}.asked"\necho " $1 $WHO" >> "${dir}/${name}.asked"\ncat "${dir}/${name}.json"\nexit ${exitCode}\n`;
  await writeFile(`${dir}/${name}`, script);
  await chmod(`${dir}/${name}`, 0o755);
}
const askedOf = async (name: string) => (await readFile(`${dir}/${name}.asked`, "utf8")).trim().split("\n");

const response = { kind: "CredentialProviderResponse", apiVersion: "credentialprovider.kubelet.k8s.io/v1" };
const answering = (auth: object, more: object = {}) => ({ ...response, cacheKeyType: "Registry", auth, ...more });
const login = (username: string) => ({ username, password: "secret" });

async function load(...providers: object[]) {
  const usual = { apiVersion: response.apiVersion, matchImages: ["*.example.com"], defaultCacheDuration: "10m" };
  const file = { kind: "CredentialProviderConfig", apiVersion: "kubelet.config.k8s.io/v1" };
  await writeFile(
    `${dir}/config.yaml`,
    JSON.stringify({ ...file, providers: providers.map((one) => ({ ...usual, ...one })) }),
  );
  return await loadCredentialPlugins({ config: `${dir}/config.yaml`, binDir: dir });
}
async function open(...providers: object[]) {
  const clock = createVirtualClock();
  return { clock, plugins: new CredentialPlugins({ plugins: await load(...providers), clock, log: silentLog }) };
}
const usersFor = async (plugins: CredentialPlugins, image: string) =>
  (await plugins.logins(image)).map(({ username }) => username);

test("a plugin is asked about images that match, and its closest login comes first", async () => {
  await install(
    "one",
    answering({ "a.example.com": login("all"), "a.example.com/team": login("team"), "b.example.com": login("b") }),
  );
  const { plugins } = await open({ name: "one", args: ["--now"], env: [{ name: "WHO", value: "me" }] });

  assert.deepEqual(await usersFor(plugins, "a.example.com/team/app"), ["team", "all"]);
  assert.deepEqual(await usersFor(plugins, "elsewhere.org/app"), []);
  const request = {
    kind: "CredentialProviderRequest",
    apiVersion: response.apiVersion,
    image: "a.example.com/team/app",
  };
  assert.deepEqual(await askedOf("one"), [`${JSON.stringify(request)} --now me`]);
});

test("an answer is kept for its registry as long as it says", async () => {
  await install("two", answering({ "*.example.com": login("x") }, { cacheDuration: "1m0s" }));
  const { clock, plugins } = await open({ name: "two" });
  await Promise.all([usersFor(plugins, "a.example.com/x"), usersFor(plugins, "a.example.com/x")]);
  await usersFor(plugins, "a.example.com/y");
  assert.equal((await askedOf("two")).length, 1);

  await usersFor(plugins, "b.example.com/y");
  assert.equal((await askedOf("two")).length, 2);
  await clock.advance(61_000);
  await usersFor(plugins, "a.example.com/x");
  assert.equal((await askedOf("two")).length, 3);
});

const bad: readonly [name: string, answer: unknown, code: number][] = [
  ["that fails", answering({ "a.example.com": login("x") }), 1],
  ["that answers no JSON", "hello", 0],
  ["of another version", { ...answering({}), apiVersion: "v1" }, 0],
  ["without a kind of key", { ...response, auth: {} }, 0],
  ["whose login is no object", answering({ "a.example.com": "x" }), 0],
  ["that answers too much", answering({ x: { username: "y".repeat(2 << 20) } }), 0],
];
for (const [name, answer, code] of bad) {
  test(`a plugin ${name} knows no logins, and others still do`, async () => {
    await install("bad", answer, code);
    await install("good", answering({ "a.example.com": login("good") }));
    const { plugins } = await open({ name: "bad" }, { name: "good" });

    assert.deepEqual(await usersFor(plugins, "a.example.com/app"), ["good"]);
  });
}

test("an image without a registry is one of Docker Hub", async () => {
  await install("hub", answering({ "docker.io": login("hub") }));
  const { plugins } = await open({ name: "hub", matchImages: ["docker.io/library"] });

  assert.deepEqual(await usersFor(plugins, "busybox"), ["hub"]);
});

const refused: readonly [provider: object, message: RegExp][] = [
  [{ name: "../sh" }, /providers\[0\]\.name: .*must be the name of a file/],
  [{ name: "none" }, /none is no program that this user may run/],
  [
    { name: "one", apiVersion: "credentialprovider.kubelet.k8s.io/v2" },
    /providers\[0\]\.apiVersion: Unsupported value/,
  ],
  [{ name: "one", matchImages: [] }, /providers\[0\]\.matchImages: .*at least 1 item/],
  [{ name: "one", defaultCacheDuration: "-1s" }, /defaultCacheDuration: .*must be greater than or equal to 0/],
  [{ name: "one", tokenAttributes: {} }, /tokenAttributes: .*not supported/],
];
for (const [provider, message] of refused) {
  test(`a configuration of credential plugins is refused in one line: ${JSON.stringify(provider)}`, () =>
    assert.rejects(load(provider), message));
}

test("both flags are needed", () =>
  assert.rejects(loadCredentialPlugins({ config: "/x", binDir: undefined }), /need each other/));
