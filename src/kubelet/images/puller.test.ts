import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "#api/core/secret.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { seededRandom } from "#lib/data/random.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { credentialsFor } from "./credentials.ts";
import { ImagePuller, type ImageRequest } from "./puller.ts";

function setUp(pullImage: (name: string) => void = () => {}) {
  const clock = createVirtualClock();
  let pulls = 0;
  const hooks = {
    pullImage(name: string) {
      pulls++;
      pullImage(name);
    },
  };
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.0.0.0/24", hooks });
  const puller = new ImagePuller({ runtime, clock });
  const ensure = (request: Partial<ImageRequest> = {}) =>
    puller.ensure({ image: "web", policy: "IfNotPresent", podUid: "u", secrets: [], ...request });
  return { clock, runtime, puller, ensure, pulls: () => pulls };
}

test("an image is pulled when it is missing, or always", async () => {
  const { ensure, pulls } = setUp();

  const first = await ensure();
  const second = await ensure();
  const third = await ensure({ policy: "Always" });

  assert.deepEqual([first.ok, second.ok, third.ok, pulls()], [true, true, true, 2]);
  assert.match(first.message, /^Successfully pulled image "web" in 0ms/);
  assert.match(second.message, /^Container image "web" already present on machine/);
});

test("pods that want the same image wait for one pull", async () => {
  const { ensure, pulls } = setUp();

  await Promise.all(["a", "b", "c"].map((podUid) => ensure({ podUid })));

  assert.equal(pulls(), 1);
});

test("policy Never and an invalid name are refused", async () => {
  const { ensure, pulls } = setUp();

  const never = await ensure({ policy: "Never" });
  const bad = await ensure({ image: "Not/A:::name" });

  assert.deepEqual(
    [never, bad].map((outcome) => !outcome.ok && outcome.reason),
    ["ErrImageNeverPull", "InvalidImageName"],
  );
  assert.equal(pulls(), 0);
});

test("a failed pull is retried with growing delays, and its reason is remembered", async () => {
  let isAway = true;
  const { clock, ensure, pulls } = setUp(() => {
    if (isAway) throw new Error("no such host");
  });

  assert.deepEqual(await ensure(), {
    ok: false,
    reason: "ErrImagePull",
    message: "no such host",
    retryAfterMs: 10_000,
  });
  assert.deepEqual(await ensure(), {
    ok: false,
    reason: "ImagePullBackOff",
    message: 'Back-off pulling image "web": ErrImagePull: no such host',
    retryAfterMs: 10_000,
  });
  await clock.advance(10_000);
  const again = await ensure();
  assert.equal(!again.ok && again.retryAfterMs, 20_000);
  assert.equal(pulls(), 2);
  isAway = false;
  await clock.advance(20_000);
  assert((await ensure()).ok);
});

const dockerConfig = (auths: object): Secret => {
  const data = { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") };
  return { metadata: { name: "s" }, type: "kubernetes.io/dockerconfigjson", data } as unknown as Secret;
};
const login = (username: string) => ({ auth: Buffer.from(`${username}:pw`).toString("base64") });

const cases = [
  { name: "the registry", image: "r.io/team/app:1", auths: { "r.io": login("a") }, users: ["a"] },
  {
    name: "the closest path first",
    image: "r.io/team/app:1",
    auths: { "r.io": login("a"), "r.io/team": login("b") },
    users: ["b", "a"],
  },
  { name: "a URL", image: "r.io:5000/x", auths: { "https://r.io:5000/v2/": login("a") }, users: ["a"] },
  {
    name: "a pattern",
    image: "eu.gcr.io/x",
    auths: { "*.gcr.io": login("a"), "*.*.gcr.io": login("b") },
    users: ["a"],
  },
  {
    name: "Docker Hub for short names",
    image: "nginx",
    auths: { "https://index.docker.io/v1/": login("a") },
    users: ["a"],
  },
  {
    name: "Docker Hub by its other name",
    image: "docker.io/library/nginx",
    auths: { "docker.io": login("a") },
    users: ["a"],
  },
  { name: "no other port", image: "r.io:5000/x", auths: { "r.io": login("a") }, users: [] },
  { name: "no other registry", image: "r.io/x", auths: { "other.io": login("a") }, users: [] },
];
for (const { name, image, auths, users } of cases) {
  test(`credentialsFor() finds ${name}`, () => {
    const found = credentialsFor(image, [dockerConfig(auths)]);

    assert.deepEqual(
      found.map(({ username }) => username),
      users,
    );
  });
}

test("credentialsFor() reads the old format and plain fields, and ignores nonsense", () => {
  const old = (content: string): Secret =>
    ({
      type: "kubernetes.io/dockercfg",
      data: { ".dockercfg": Buffer.from(content).toString("base64") },
    }) as unknown as Secret;

  const [found] = credentialsFor("r.io/x", [old("{"), old("[1]"), old('{"r.io":{"username":"u","password":"p:q"}}')]);

  assert.deepEqual([found?.username, found?.password], ["u", "p:q"]);
});

for (const [pattern, host, fits] of [
  ["*.io", "r.io", true],
  ["r*.io", "r.io", true],
  ["*", "localhost:5000", false],
  ["a*b*c.io", "axxbxxc.io", true],
  ["a*bc*c.io", "abc.io", false],
  ["*ab.io", "aab.io", true],
  ["a*a.io", "a.io", false],
  ["*.io", "a.b.io", false],
  ["r.io:5000", "r.io:5000", true],
  ["r*.io:5000", "r.io:5001", false],
  [`${"*a".repeat(1000)}*b.x`, `${"a".repeat(63)}.x`, false],
  [`${"/".repeat(100_000)}x`, "r.io", false],
] as const) {
  test(`credentialsFor() says that ${pattern.slice(0, 20)} ${fits ? "fits" : "does not fit"} ${host}`, () => {
    const found = credentialsFor(`${host}/x`, [dockerConfig({ [pattern]: { username: "u", password: "p" } })]);

    assert.equal(found.length, fits ? 1 : 0);
  });
}

test("credentialsFor() reads no more than its limits", () => {
  const login = { username: "u", password: "p" };
  const many = dockerConfig(Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`r.io/n${at}x`, login])));
  const large = dockerConfig({ "r.io": { ...login, email: "x".repeat(1_000_000) } });
  const same = dockerConfig(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${"*".repeat(at)}.io`, login])));

  assert.deepEqual(
    ["n0x", "n1499x"].map((name) => credentialsFor(`r.io/${name}`, [many]).length),
    [1, 0],
  );
  assert.equal(credentialsFor("r.io/x", [same]).length, 20);
  assert.equal(credentialsFor("r.io/x", [dockerConfig({ [`r.io/${"/".repeat(2000)}`]: login })]).length, 0);
  assert.equal(credentialsFor("r.io/x", Array(50).fill(large)).length, 1);
  assert.equal(
    credentialsFor(
      "r.io/x",
      Array.from({ length: 50 }, () => ({ ...large })),
    ).length,
    1,
  );
});

test("neither a long name nor a verbose registry makes a long status", async () => {
  const { ensure } = setUp(() => {
    throw new Error("x".repeat(1 << 20));
  });

  for (const image of ["I".repeat(1 << 20), "web"]) {
    const outcome = await ensure({ image });
    assert(!outcome.ok && outcome.message.length < 5000);
  }
});
