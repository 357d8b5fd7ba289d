import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "#api/core/secret.ts";
import { seededRandom } from "#lib/random.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { SimulatedRuntime } from "../runtime/simulated.ts";
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

test("an image is pulled when it is not there, or always", async () => {
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

test("policy Never and a name that is none are refused", async () => {
  const { ensure, pulls } = setUp();

  const never = await ensure({ policy: "Never" });
  const bad = await ensure({ image: "Not/A:::name" });

  assert.deepEqual(
    [never, bad].map((outcome) => !outcome.ok && outcome.reason),
    ["ErrImageNeverPull", "InvalidImageName"],
  );
  assert.equal(pulls(), 0);
});

test("a pull that fails is tried again after a growing while, and the reason is remembered", async () => {
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

test("credentialsFor() reads the old form, plain fields, and nothing from nonsense", () => {
  const old = (content: string): Secret =>
    ({
      type: "kubernetes.io/dockercfg",
      data: { ".dockercfg": Buffer.from(content).toString("base64") },
    }) as unknown as Secret;

  const [found] = credentialsFor("r.io/x", [old("{"), old("[1]"), old('{"r.io":{"username":"u","password":"p:q"}}')]);

  assert.deepEqual([found?.username, found?.password], ["u", "p:q"]);
});
