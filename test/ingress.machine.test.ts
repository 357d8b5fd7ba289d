/** A Service, an Ingress and a Gateway that lead to real pods, also while these are replaced. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { freePorts } from "#testing/peers/free-ports.ts";
import { findKubectls, Kubectl } from "./support/kubectl.ts";
import { deadline, freeRange, makeTempDir, runOrlop } from "./support/server.ts";

const dataDir = makeTempDir();
const home = makeTempDir();
const kubeconfig = path.join(home, "config");
process.env.KUBECONFIG = kubeconfig;
process.env.HOME = home;

let kubectl: Kubectl;
let httpPort = 0;

before(async () => {
  const [port, kubeletPort, http = 0, https] = await freePorts(4);
  httpPort = http;
  const { code, stdout, stderr } = await runOrlop([
    ...["up", "--data-dir", dataDir, "--port", `${port}`, "--kubelet-port", `${kubeletPort}`, "--node-name", "gate"],
    ...["--cluster-cidr", freeRange(70), "--service-cidr", freeRange(130)],
    ...["--ingress", "--ingress-http-port", `${http}`, "--ingress-https-port", `${https}`],
  ]);
  assert.equal(code, 0, stderr + stdout);
  const [program] = findKubectls();
  assert(program);
  kubectl = new Kubectl({ program, kubeconfig, namespace: "default", home });
});

after(async () => {
  const { code, stdout, stderr } = await runOrlop(["down", "--data-dir", dataDir]);
  for (const dir of [home, dataDir]) rmSync(dir, { recursive: true, force: true });
  assert.equal(code, 0, stderr + stdout);
  assert.match(stdout, /nothing is left/);
});

/** Where the service itself is, for requests that do not pass the ingress. */
let clusterIP = "";

/** The status of the answer, or the error. */
const ask = (host: string): Promise<string> =>
  new Promise((resolve) => {
    const place = host === "service" ? { host: clusterIP, port: 80 } : { host: "127.0.0.1", port: httpPort };
    const asked = request({ ...place, headers: { host }, agent: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(String(response.statusCode)));
      response.once("error", (error) => resolve(error.message));
    });
    asked.once("error", (error) => resolve(error.message));
    asked.end();
  });

const serve = "mkdir /w && echo hello > /w/index.html && exec busybox httpd -f -p 8080 -h /w";
const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            ...{ name: "web", image: "orlop.dev/busybox:1", command: ["sh", "-c", serve] },
            readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};
const service = {
  ...{ apiVersion: "v1", kind: "Service", metadata: { name: "web" } },
  spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
};
const ingress = {
  ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "web" } },
  spec: {
    rules: [
      {
        host: "ingress.example",
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }],
        },
      },
    ],
  },
};
const gateway = () => ({
  ...{ apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", metadata: { name: "web" } },
  spec: { gatewayClassName: "orlop", listeners: [{ name: "http", port: httpPort, protocol: "HTTP" }] },
});
const route = {
  ...{ apiVersion: "gateway.networking.k8s.io/v1", kind: "HTTPRoute", metadata: { name: "web" } },
  spec: {
    ...{ parentRefs: [{ name: "web" }], hostnames: ["gateway.example"] },
    rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
  },
};

test("a Service, an Ingress and a Gateway lead to real pods, and no request fails while these are replaced", async () => {
  // The ingress creates the definitions after `up` has ended.
  const definition = "crd/httproutes.gateway.networking.k8s.io";
  await deadline(definition, async () => (await kubectl.run(["get", definition])).code === 0 || undefined);
  await kubectl.ok(`wait --for condition=Established ${definition} --timeout=60s`);
  for (const object of [web, service, ingress, gateway(), route]) {
    await kubectl.ok("apply -f -", JSON.stringify(object));
  }
  await kubectl.ok("rollout status deploy/web --timeout=120s");
  clusterIP = await kubectl.ok("get service web -o jsonpath={.spec.clusterIP}");
  const hosts = ["gateway.example", "ingress.example", "service"];
  for (const host of hosts) {
    await deadline(`an answer for ${host}`, async () => (await ask(host)) === "200" || undefined);
  }

  const seen = new Map<string, number>();
  const state = { isDone: false };
  const load = async (host: string): Promise<void> => {
    while (!state.isDone) {
      const status = `${host} ${await ask(host)}`;
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
  };
  const loads = hosts.map(load);
  await kubectl.ok("rollout restart deploy/web");
  await kubectl.ok("rollout status deploy/web --timeout=120s");
  await kubectl.ok("wait --for=delete pod -l app=web --field-selector status.phase!=Running --timeout=60s");
  state.isDone = true;
  await Promise.all(loads);

  assert.deepEqual(
    [...seen.keys()].sort(),
    hosts.map((host) => `${host} 200`),
  );
  const why = await runOrlop(["why", "ingress/web", "--kubeconfig", kubeconfig]);
  assert.match(why.stdout, /leads to 1 service/);
});
