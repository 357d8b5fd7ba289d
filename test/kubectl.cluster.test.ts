import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { Connection } from "./support/connection.ts";
import { findKubectls, Kubectl, type KubectlProgram } from "./support/kubectl.ts";
import { deadline, makeTempDir, type RunningServer, startServer } from "./support/server.ts";

/** The fields of an object that tests read. */
interface Seen {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
    readonly generation?: number;
    readonly resourceVersion: string;
    readonly uid: string;
    readonly finalizers?: readonly string[];
    readonly managedFields?: readonly { manager: string; operation: string }[];
  };
  readonly data?: Record<string, string>;
  readonly spec?: { readonly replicas?: number; readonly paused?: boolean };
}
interface SeenList {
  readonly kind: string;
  readonly items: readonly Seen[];
}

const configMap = (name: string, data: Record<string, string> = { color: "blue" }, labels?: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(labels ? { labels } : {}) },
  data,
});
const pod = (name: string, labels: Record<string, string> = { app: "web" }) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
  spec: { containers: [{ name: "web", image: "nginx:1.25", ports: [{ containerPort: 80 }] }], nodeName: undefined },
});
const deployment = (name: string, replicas = 2) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "web", image: "nginx:1.25", ports: [{ containerPort: 80 }] }] },
    },
  },
});
const service = (name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
});
const spec = { type: "object", properties: { count: { type: "integer" } } };
const openAPIV3Schema = { type: "object", properties: { spec } };
const definition = (plural: string, kind: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.test.example.com` },
  spec: {
    group: "test.example.com",
    scope: "Namespaced",
    names: { plural, kind },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
  },
});
const listOf = (...items: object[]) => ({ apiVersion: "v1", kind: "List", items });
const quoted = (json: object): string => JSON.stringify(json);

let server: RunningServer;
let connection: Connection;
let home: string;
before(async () => {
  server = await startServer();
  connection = new Connection(server);
  home = makeTempDir();
});
after(async () => {
  await connection[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const programs = findKubectls();
test("a kubectl is available", () => assert(programs.length > 0, "put kubectl on the PATH"));
for (const program of programs) suite(program.name, () => describeKubectl(program));

let namespaces = 0;

/** Without kubectl, as there are many of them; pods can be created as soon as it has its service account. */
async function createNamespace(name: string): Promise<void> {
  const { status, body } = await connection.sure("POST", "/api/v1/namespaces", quoted({ metadata: { name } }));
  assert.equal(status, 201, body);
  await deadline(`the service account of ${name}`, async () => {
    const account = await connection.sure("GET", `/api/v1/namespaces/${name}/serviceaccounts/default`);
    return account.status === 200 || undefined;
  });
}

function describeKubectl(program: KubectlProgram): void {
  /** A kubectl with its own namespace. */
  const inNamespace = async (): Promise<Kubectl & { namespace: string }> => {
    const namespace = `test-${program.minor}-${++namespaces}`;
    const folder = path.join(home, program.name.replace(" ", "-"));
    mkdirSync(folder, { recursive: true });
    const kubectl = new Kubectl({ program, kubeconfig: server.kubeconfig, namespace, home: folder });
    await createNamespace(namespace);
    return Object.assign(kubectl, { namespace });
  };

  test("apply creates, keeps, changes, and prunes what is no longer declared", async () => {
    const kubectl = await inNamespace();
    const everything = listOf(deployment("web"), service("web"), configMap("settings"));

    const created = await kubectl.ok("apply -f -", everything);
    const again = await kubectl.ok("apply -f - -o name", everything);
    const unchanged = await kubectl.ok("apply -f -", everything);
    const changed = await kubectl.ok("apply -f -", configMap("settings", { size: "big" }));

    assert.equal(created, "deployment.apps/web created\nservice/web created\nconfigmap/settings created\n");
    assert.equal(again, "deployment.apps/web\nservice/web\nconfigmap/settings\n");
    assert.equal(unchanged, "deployment.apps/web unchanged\nservice/web unchanged\nconfigmap/settings unchanged\n");
    assert.equal(changed, "configmap/settings configured\n");
    const { data } = await kubectl.json<Seen>("get cm settings -o json");
    assert.deepEqual(data, { size: "big" });
  });

  test("apply changes custom resources with a patch that they accept", async () => {
    const kubectl = await inNamespace();
    const plural = `crates${program.minor}`;
    const kind = `Crate${program.minor}`;
    const apiVersion = "test.example.com/v1";
    const crate = (count: number) => ({ apiVersion, kind, metadata: { name: "a" }, spec: { count } });
    await kubectl.ok("apply -f -", definition(plural, kind));
    await kubectl.ok(`wait --for=condition=Established crd/${plural}.test.example.com`);

    await kubectl.ok("apply -f -", crate(1));
    const changed = await kubectl.ok("apply -f -", crate(2));

    assert.match(changed, / configured\n$/);
    assert.equal(await kubectl.ok(`get ${plural} a -o jsonpath={.spec.count}`), "2");
  });

  test("apply --server-side owns fields, and conflicts name the field and its manager", async () => {
    const kubectl = await inNamespace();
    const apply = (manager: string, data: Record<string, string>, ...more: string[]) =>
      kubectl.run(
        ["apply", "--server-side", "--field-manager", manager, ...more, "-f", "-"],
        configMap("settings", data),
      );

    const first = await apply("alice", { color: "blue" });
    const same = await apply("bob", { color: "blue", size: "big" });
    const conflict = await apply("alice", { color: "red" });
    const forced = await apply("alice", { color: "red" }, "--force-conflicts");

    assert.equal(first.stdout, "configmap/settings serverside-applied\n");
    assert.equal(same.code, 0, same.stderr);
    assert.equal(conflict.code, 1);
    assert.match(conflict.stderr, /conflict with "bob": \.data\.color/);
    assert.equal(forced.code, 0, forced.stderr);
    const { data, metadata } = await kubectl.json<Seen>([
      ..."get cm settings -o json".split(" "),
      ...(program.minor >= 21 ? ["--show-managed-fields"] : []),
    ]);
    assert.deepEqual(data, { color: "red", size: "big" });
    assert.deepEqual(
      // The order depends on the second in which each was written, so sort.
      metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`).sort(),
      ["alice Apply", "bob Apply"],
    );
  });

  test("create makes objects of many kinds from files and flags", async () => {
    const kubectl = await inNamespace();

    const outputs = [
      await kubectl.ok("create -f -", pod("web")),
      await kubectl.ok("create deployment shop --image=nginx:1.25"),
      await kubectl.ok("create configmap settings --from-literal=color=blue"),
      await kubectl.ok("create secret generic password --from-literal=word=secret"),
      await kubectl.ok("create service clusterip shop --tcp=80:8080"),
      await kubectl.ok("create serviceaccount robot"),
      await kubectl.ok("create role reader --verb=get,list --resource=pods"),
      await kubectl.ok("create rolebinding readers --role=reader --serviceaccount=default:robot"),
    ];
    const generated = await kubectl.ok("create -f - -o name", {
      ...configMap(""),
      metadata: { generateName: "settings-" },
    });
    const twice = await kubectl.fails("create configmap settings");

    assert.deepEqual(
      outputs.map((output) => output.trim()),
      [
        "pod/web created",
        "deployment.apps/shop created",
        "configmap/settings created",
        "secret/password created",
        "service/shop created",
        "serviceaccount/robot created",
        "role.rbac.authorization.k8s.io/reader created",
        "rolebinding.rbac.authorization.k8s.io/readers created",
      ],
    );
    assert.match(generated, /^configmap\/settings-[a-z0-9]{5}$/m);
    assert.match(
      twice,
      /^(error: failed to create configmap|Error from server \(AlreadyExists\)): configmaps "settings" already exists$/m,
    );
  });

  test("get prints tables, wide tables, YAML, JSON, JSONPath, names and columns", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", listOf(pod("web-1"), pod("web-2", { app: "db", tier: "back" }), service("web")));

    const table = await kubectl.ok("get pods");
    const wide = await kubectl.ok("get pods -o wide --show-labels");
    const services = await kubectl.ok("get svc web");
    const yaml = await kubectl.ok("get pod web-1 -o yaml");
    const list = await kubectl.json<SeenList>("get pods,svc -o json");
    const all = await kubectl.ok("get all");

    assert.match(table, /^NAME +READY +STATUS +RESTARTS +AGE\nweb-1 +0\/1 +Pending +0 +\d+s\nweb-2 /);
    assert.match(wide, /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES +LABELS\n/);
    assert.match(wide, /web-2 .*<none> +<none> +<none> +<none> +app=db,tier=back/);
    assert.match(
      services,
      /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nweb +ClusterIP +10\.96\.\d+\.\d+ +<none> +80\/TCP/,
    );
    assert.match(yaml, /^apiVersion: v1\nkind: Pod\nmetadata:\n {2}creationTimestamp: /);
    assert.match(yaml, /\n {2}- image: nginx:1\.25\n/);
    assert.equal(list.kind, "List");
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata.name),
      ["web-1", "web-2", "web"],
    );
    assert.match(all, /pod\/web-1 [\s\S]*service\/web /);
    assert.equal(
      await kubectl.ok([
        "get",
        "pods",
        "-o",
        "jsonpath={range .items[*]}{.metadata.name}={.spec.containers[0].image} {end}",
      ]),
      "web-1=nginx:1.25 web-2=nginx:1.25 ",
    );
    assert.equal(await kubectl.ok("get pods -o name"), "pod/web-1\npod/web-2\n");
    assert.equal(
      await kubectl.ok("get pods --no-headers -o custom-columns=N:.metadata.name,T:.metadata.labels.tier"),
      "web-1   <none>\nweb-2   back\n",
    );
    assert.match(await kubectl.fails("get pod nobody"), /Error from server \(NotFound\): pods "nobody" not found/);
    assert.match(await kubectl.fails("get unicorns"), /the server doesn't have a resource type "unicorns"/);
  });

  test("get selects by labels and fields, sorts, and reads across namespaces in chunks", async () => {
    const kubectl = await inNamespace();
    const shades = ["c", "a", "b"].map((name, index) => configMap(name, { rank: String(9 - index) }, { shade: name }));
    await kubectl.ok("create -f -", listOf(...shades));
    const names = async (flags: string): Promise<string> =>
      (await kubectl.ok(`get cm -o name ${flags}`)).replaceAll("configmap/", "").trim().split("\n").join(" ");

    assert.equal(await names("-l shade"), "a b c");
    assert.equal(await names("-l shade=a"), "a");
    assert.equal(await names("-l shade!=a,shade"), "b c");
    assert.equal(
      await kubectl.ok(["get", "cm", "-o", "name", "-l", "shade in (a, b),shade notin (b)"]),
      "configmap/a\n",
    );
    assert.equal(await names("--field-selector metadata.name=b"), "b");
    assert.equal(await names("-l shade --field-selector metadata.name!=b"), "a c");
    assert.equal(await names("-l shade --sort-by=.data.rank"), "b a c");
    assert.equal(await names("-l shade --chunk-size=1"), "a b c");
    assert.match(await kubectl.ok("get cm -A --chunk-size=2"), new RegExp(`^${kubectl.namespace} +a +1 `, "m"));
    assert.match(
      await kubectl.fails("get cm --field-selector data.rank=9"),
      /"data\.rank" is not a known field selector/,
    );
    assert.match(await kubectl.fails("get cm -l a=b=c"), /unable to parse requirement|found '=', expected/);
  });

  test("get -w shows what changes", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", configMap("a", {}, { watched: "yes" }));
    const watch = kubectl.start("get cm -l watched -w --output-watch-events");
    const events = (): string[] =>
      [...watch.output.stdout.matchAll(/^([A-Z]+) +([a-z]) /gm)].map((m) => `${m[1]} ${m[2]}`);
    const seen = (count: number) => deadline(`${count} events`, () => events().length >= count || undefined);
    try {
      await seen(1);
      await kubectl.ok("create -f -", configMap("b", {}, { watched: "yes" }));
      await seen(2);
      await kubectl.ok("annotate cm a mark=1");
      await seen(3);
      await kubectl.ok("label cm b watched-");
      await seen(4);
      await kubectl.ok("delete cm a");
      await seen(5);
    } finally {
      watch.child.kill("SIGKILL");
      await watch.ended;
    }

    assert.deepEqual(events(), ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "DELETED a"]);
  });

  test("describe shows objects of many kinds", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", listOf(pod("web"), deployment("shop"), service("shop"), configMap("settings")));
    const node = `node-${kubectl.namespace}`;
    await kubectl.ok("create -f -", { apiVersion: "v1", kind: "Node", metadata: { name: node } });
    await kubectl.ok("create secret generic password --from-literal=word=secret");

    const described = {
      pod: await kubectl.ok("describe pod web"),
      deployment: await kubectl.ok("describe deployment shop"),
      service: await kubectl.ok("describe service shop"),
      configMap: await kubectl.ok("describe cm settings"),
      secret: await kubectl.ok("describe secret password"),
      namespace: await kubectl.ok(["describe", "namespace", kubectl.namespace]),
      node: await kubectl.ok(["describe", "node", node]),
      account: await kubectl.ok("describe serviceaccount default"),
      role: await kubectl.ok("describe clusterrole view"),
      binding: await kubectl.ok("describe clusterrolebinding cluster-admin"),
    };
    await kubectl.ok(["delete", "node", node]);

    assert.match(described.pod, /^Name: +web\nNamespace: +test-/);
    assert.match(described.pod, /Image: +nginx:1\.25\n[\s\S]*QoS Class: +BestEffort\n/);
    assert.match(
      described.deployment,
      /Replicas: +2 desired \|[\s\S]*RollingUpdateStrategy: +25% max unavailable, 25% max surge/,
    );
    assert.match(
      described.service,
      /Type: +ClusterIP\nIP Family Policy: +SingleStack\nIP Families: +IPv4\nIP: +10\.96\./,
    );
    assert.match(described.configMap, /color:\n----\nblue\n/);
    assert.match(described.secret, /Type: +Opaque\n\nData\n====\nword: +6 bytes/);
    assert.match(described.namespace, /Labels: +kubernetes\.io\/metadata\.name=test-[\s\S]*Status: +Active/);
    assert.match(described.node, /Unschedulable: +false\n/);
    assert.match(described.account, /^Name: +default/);
    assert.match(described.role, /configmaps +\[\] +\[\] +\[get list watch\]/);
    assert.match(described.binding, /Group +system:masters/);
  });

  test("edit writes what the editor saved, and nothing if it changed nothing", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", configMap("settings"));
    const edit = async (script: string): Promise<string> => {
      const editor = path.join(home, "editor.sh");
      writeFileSync(editor, `#!/bin/sh\n${script}\n`);
      chmodSync(editor, 0o755);
      process.env.KUBE_EDITOR = editor;
      return await kubectl.ok("edit cm settings");
    };

    const changed = await edit("sed -i 's/color: blue/color: green/' \"$1\"");
    const same = await edit("true");

    assert.match(changed, /configmap\/settings edited/);
    assert.match(same, /Edit cancelled, no changes made|^$/);
    assert.deepEqual((await kubectl.json<Seen>("get cm settings -o json")).data, { color: "green" });
  });

  test("patch with each of its types", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", listOf(deployment("web"), configMap("settings")));
    const patch = (target: string, type: string, body: object): Promise<string> =>
      kubectl.ok(["patch", ...target.split(" "), "--type", type, "-p", quoted(body)]);

    const strategic = await patch("deploy web", "strategic", {
      spec: { template: { spec: { containers: [{ name: "side", image: "busybox" }] } } },
    });
    await patch("cm settings", "merge", { data: { color: null, size: "big" } });
    await patch("cm settings", "json", [
      { op: "test", path: "/data/size", value: "big" },
      { op: "add", path: "/data/shape", value: "round" },
    ]);
    const unchanged = await patch("cm settings", "merge", { data: { size: "big" } });
    const failed = await kubectl.fails([
      ..."patch cm settings --type json -p".split(" "),
      quoted([{ op: "test", path: "/data/size", value: "small" }]),
    ]);

    assert.equal(strategic, "deployment.apps/web patched\n");
    assert.equal(unchanged, "configmap/settings patched (no change)\n");
    // The older kubectl does not show the message.
    assert.match(
      failed,
      program.minor < 25 ? /The request is invalid/ : /testing value \/data\/size failed|test failed/,
    );
    assert.deepEqual((await kubectl.json<Seen>("get cm settings -o json")).data, { shape: "round", size: "big" });
    assert.equal(
      await kubectl.ok(["get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}"]),
      "side web",
    );
  });

  test("label, annotate and replace", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", configMap("settings"));

    assert.match(await kubectl.ok("label cm settings tier=front stage=test"), /configmap\/settings labeled/);
    assert.match(
      await kubectl.fails("label cm settings tier=back"),
      /'tier' already has a value \(front\), and --overwrite is false/,
    );
    await kubectl.ok("label cm settings --overwrite tier=back stage-");
    assert.match(await kubectl.ok("annotate cm settings note=hello"), /configmap\/settings annotated/);
    assert.match(await kubectl.fails(["label", "cm", "settings", "x=not valid"]), /a valid label must be/);
    const labeled = await kubectl.json<Seen>("get cm settings -o json");
    const replaced = await kubectl.ok("replace -f -", configMap("settings", { size: "big" }));
    const stale = await kubectl.fails("replace -f -", {
      ...configMap("settings"),
      metadata: { name: "settings", resourceVersion: labeled.metadata.resourceVersion },
    });

    assert.deepEqual(labeled.metadata.labels, { tier: "back" });
    assert.deepEqual(labeled.metadata.annotations, { note: "hello" });
    assert.equal(replaced, "configmap/settings replaced\n");
    assert.match(stale, /Operation cannot be fulfilled on configmaps "settings": the object has been modified/);
    const { metadata, data } = await kubectl.json<Seen>("get cm settings -o json");
    assert.deepEqual([metadata.labels, data], [undefined, { size: "big" }]);
  });

  test("delete with each of its options", async () => {
    const kubectl = await inNamespace();
    const held = configMap("held");
    const items = ["a", "b", "c", "d", "e"].map((name) => configMap(name, {}, { group: name < "c" ? "low" : "high" }));
    await kubectl.ok("create -f -", listOf(...items, pod("web")));
    await kubectl.ok("create -f -", { ...held, metadata: { name: "held", finalizers: ["example.com/hold"] } });

    assert.match(await kubectl.ok("delete cm a"), /^configmap "a" deleted/);
    assert.match(await kubectl.ok("delete cm b --cascade=foreground --wait=false"), /^configmap "b" deleted/);
    assert.match(await kubectl.ok("delete cm -l group=high"), /"c" deleted[\s\S]*"d" deleted[\s\S]*"e" deleted/);
    assert.match(await kubectl.ok("delete pod web --grace-period=0 --force"), /pod "web" (force )?deleted/);
    assert.match(await kubectl.fails("delete cm a"), /configmaps "a" not found/);
    await kubectl.ok("delete cm a --ignore-not-found");
    await kubectl.ok("delete cm held --cascade=orphan --wait=false");
    const waiting = await kubectl.json<Seen>("get cm held -o json");
    await kubectl.ok(["patch", "cm", "held", "--type", "merge", "-p", quoted({ metadata: { finalizers: null } })]);

    assert(waiting.metadata.finalizers?.includes("example.com/hold"));
    assert.match(await kubectl.fails("get cm held"), /not found/);
    assert.equal((await kubectl.ok("get cm -l group=high -o name")).trim(), "");
    assert.match(await kubectl.ok("delete cm --all --wait=false"), /"kube-root-ca.crt" deleted/);
  });

  test("explain knows every field", async () => {
    const kubectl = await inNamespace();

    const pods = await kubectl.ok("explain pods --recursive");
    const deployments = await kubectl.ok("explain deployments --recursive");
    const field = await kubectl.ok("explain pod.spec.containers.livenessProbe.httpGet.port");

    assert.match(pods, /KIND: +Pod\nVERSION: +v1/);
    for (const name of ["topologySpreadConstraints", "ephemeralContainers", "fsGroupChangePolicy", "podIPs"])
      assert.match(pods, new RegExp(`^ +${name}\t<`, "m"));
    assert(pods.split("\n").length > 800, `only ${pods.split("\n").length} lines`);
    assert.match(deployments, /KIND: +Deployment\nVERSION: +(apps\/)?v1/);
    assert.match(deployments, /\n +maxSurge\t<\S+>/);
    assert.match(field, /FIELD: +port <\S+>[\s\S]*DESCRIPTION:\n +\S/);
    assert.match(await kubectl.fails("explain pods.spec.nonsense"), /field "nonsense" does not exist/);
  });

  test("explain describes every field of a kind, and a part of it once", async () => {
    const kubectl = await inNamespace();

    const kind = await kubectl.ok("explain statefulsets");
    const spec = await kubectl.ok("explain statefulsets.spec");

    assert.doesNotMatch(kind + spec, /<no description>/);
    const text = /^ +spec\t<\S+>.*\n +(.*)$/m.exec(kind)?.[1];
    assert.equal(text && spec.split(text).length, 2, spec);
  });

  test("api-resources and api-versions list what is served", async () => {
    const kubectl = await inNamespace();

    const resources = await kubectl.ok("api-resources");
    const namespaced = await kubectl.ok("api-resources --namespaced=false -o name");
    const versions = await kubectl.ok("api-versions");

    assert.match(resources, /^NAME +SHORTNAMES +API(VERSION|GROUP) +NAMESPACED +KIND/);
    assert.match(resources, /^deployments +deploy +apps(\/v1)? +true +Deployment$/m);
    assert.match(resources, /^pods +po +(v1)? +true +Pod$/m);
    assert.match(namespaced, /^nodes$/m);
    assert.match(namespaced, /^clusterroles\.rbac\.authorization\.k8s\.io$/m);
    for (const version of ["v1", "apps/v1", "rbac.authorization.k8s.io/v1", "coordination.k8s.io/v1"])
      assert(versions.split("\n").includes(version), version);
    assert.match(await kubectl.ok("api-resources --verbs=list --api-group=apps -o name"), /^replicasets\.apps$/m);
  });

  test("diff shows what a client-side and a server-side apply would change", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("apply -f -", configMap("settings"));
    await kubectl.ok("apply --server-side -f -", configMap("owned"));

    const same = await kubectl.run("diff -f -", configMap("settings"));
    const other = await kubectl.run("diff -f -", configMap("settings", { color: "green" }));
    const serverSide = await kubectl.run("diff --server-side -f -", configMap("owned", { color: "green" }));

    assert.deepEqual([same.code, same.stdout], [0, ""]);
    assert.equal(other.code, 1, other.stderr);
    assert.match(other.stdout, /^- {2}color: blue\n\+ {2}color: green$/m);
    assert.equal(serverSide.code, 1, serverSide.stderr);
    assert.match(serverSide.stdout, /^\+ {2}color: green$/m);
    assert.deepEqual((await kubectl.json<Seen>("get cm settings -o json")).data, { color: "blue" });
  });

  test("wait returns when the condition holds, and gives up after its timeout", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", listOf(pod("web"), configMap("gone")));
    const path = `/api/v1/namespaces/${kubectl.namespace}/pods/web/status`;
    const status = { status: { conditions: [{ type: "Ready", status: "True" }], phase: "Running" } };
    /** Resolves when kubectl watches: a change before that might be missed. */
    const startWaiting = async (args: string) => {
      const running = kubectl.start(`${args} -v=6`);
      await deadline(`${args} to watch`, () => /watch=true/.test(running.output.stderr) || undefined);
      return running;
    };

    const ready = await startWaiting("wait pod/web --for=condition=Ready --timeout=60s");
    await kubectl.ok(["replace", "--raw", path, "-f", "-"], { ...pod("web"), ...status });
    const gone = await startWaiting("wait cm/gone --for=delete --timeout=60s");
    await kubectl.ok("delete cm gone");
    const late = await kubectl.fails("wait pod/web --for=condition=Sleepy --timeout=1s");

    assert.equal(await ready.ended, 0, ready.output.stderr);
    assert.equal(ready.output.stdout, "pod/web condition met\n");
    assert.equal(await gone.ended, 0, gone.output.stderr);
    assert.match(late, /timed out waiting for the condition/);
  });

  test("auth can-i answers, and --list shows the rules", async () => {
    const kubectl = await inNamespace();
    const user = `--as=system:serviceaccount:${kubectl.namespace}:robot`;
    await kubectl.ok("create serviceaccount robot");
    await kubectl.ok("create role reader --verb=get,list --resource=pods");
    await kubectl.ok(`create rolebinding readers --role=reader --serviceaccount=${kubectl.namespace}:robot`);

    assert.equal(await kubectl.ok("auth can-i create pods"), "yes\n");
    assert.equal(await kubectl.ok(`auth can-i list pods ${user}`), "yes\n");
    const refused = await kubectl.run(`auth can-i delete pods ${user}`);
    assert.deepEqual([refused.code, refused.stdout.split("\n")[0]?.slice(0, 2)], [1, "no"]);
    const rules = await kubectl.ok(`auth can-i --list ${user}`);
    assert.match(rules, /^pods +\[\] +\[\] +\[get list\]$/m);
    assert.match(rules, /^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m);
    assert.match(await kubectl.ok("auth can-i --list"), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
    assert.match(
      await kubectl.fails(`delete pod web ${user}`),
      new RegExp(
        `pods "web" is forbidden: User "system:serviceaccount:${kubectl.namespace}:robot" cannot delete resource "pods" in API group "" in the namespace "${kubectl.namespace}"`,
      ),
    );
  });

  test("get --raw reads any path", async () => {
    const kubectl = await inNamespace();

    assert.equal(await kubectl.ok("get --raw /readyz"), "ok");
    assert.equal(await kubectl.ok("get --raw /livez"), "ok");
    assert.match(await kubectl.ok("get --raw /readyz?verbose"), /\[\+\]etcd ok\n[\s\S]*readyz check passed/);
    const version = await kubectl.json<{ major: string; gitVersion: string }>("get --raw /version");
    assert.match(version.gitVersion, /^v1\.36\./);
    const list = await kubectl.json<SeenList>("get --raw /api/v1/namespaces?limit=1");
    assert.deepEqual([list.kind, list.items.length], ["NamespaceList", 1]);
    assert.match(await kubectl.ok("get --raw /metrics"), /^apiserver_request_total\{/m);
    assert.match(await kubectl.fails("get --raw /nothing/here"), /the server could not find the requested resource/);
  });

  test("scale and rollout control a Deployment", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", deployment("web"));
    const spec = async () => (await kubectl.json<Seen>("get deploy web -o json")).spec;

    assert.match(await kubectl.ok("scale deploy web --replicas=5"), /deployment\.apps\/web scaled/);
    assert.equal((await spec())?.replicas, 5);
    assert.match(
      await kubectl.fails("scale deploy web --current-replicas=3 --replicas=1"),
      /Expected replicas to be 3, was 5/,
    );
    assert.match(await kubectl.ok("rollout pause deploy web"), /paused/);
    assert.equal((await spec())?.paused, true);
    assert.match(await kubectl.ok("rollout resume deploy web"), /resumed/);
    assert.equal((await spec())?.paused, undefined);
    assert.match(await kubectl.ok("rollout history deploy web"), /^deployment\.apps\/web/);
    assert.match(await kubectl.ok("set image deploy/web web=nginx:1.26"), /image updated/);
    assert.match(await kubectl.ok("rollout restart deploy web"), /restarted/);
    assert.equal((await kubectl.json<Seen>("get deploy web -o json")).metadata.generation, 6);
  });

  test("dry runs answer like real requests and change nothing", async () => {
    const kubectl = await inNamespace();

    const server = await kubectl.ok("create -f - --dry-run=server -o yaml", deployment("web"));
    const client = await kubectl.ok("create -f - --dry-run=client -o yaml", deployment("web"));
    const applied = await kubectl.ok("apply -f - --dry-run=server", configMap("settings"));
    const sided = await kubectl.ok("apply --server-side -f - --dry-run=server", configMap("settings"));

    assert.match(server, /\n {2}revisionHistoryLimit: 10\n/);
    assert.match(server, /\n {2}uid: [0-9a-f-]{36}\n/);
    assert.doesNotMatch(client, /revisionHistoryLimit/);
    assert.equal(applied, "configmap/settings created (server dry run)\n");
    assert.equal(sided, "configmap/settings serverside-applied (server dry run)\n");
    assert.equal(await kubectl.ok("get deploy,cm -l app=web -o name"), "");
    await kubectl.ok("create -f -", configMap("real"));
    await kubectl.ok("delete cm real --dry-run=server");
    assert.equal(await kubectl.ok("get cm real -o name"), "configmap/real\n");
  });

  test("unknown fields and wrong values are named", async () => {
    const kubectl = await inNamespace();
    const unknown = { ...configMap("settings"), datta: {}, metadata: { name: "settings", nam: "x" } };
    const wrong = { ...deployment("web"), spec: { ...deployment("web").spec, replicas: "many" } };

    const refused = await kubectl.fails("create -f -", unknown);
    const unchecked = await kubectl.fails("create -f - --validate=false", wrong);

    if (program.minor >= 25) {
      assert.match(refused, /strict decoding error: unknown field "datta", unknown field "metadata\.nam"/);
      const warned = await kubectl.run("create -f - --validate=warn", unknown);
      assert.equal(warned.stdout, "configmap/settings created\n");
      assert.match(warned.stderr, /^Warning: unknown field "datta"$/m);
      assert.match(warned.stderr, /^Warning: unknown field "metadata\.nam"$/m);
    } else {
      assert.match(refused, /unknown field "datta" in io\.k8s\.api\.core\.v1\.ConfigMap/);
      assert.match(refused, /unknown field "nam" in io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.ObjectMeta/);
    }
    assert.match(
      unchecked,
      /cannot unmarshal string into Go struct field DeploymentSpec\.spec\.replicas of type int32/,
    );
    assert.match(
      await kubectl.fails("create -f - --validate=false", { ...pod("web"), spec: { containers: [] } }),
      /The Pod "web" is invalid: spec\.containers: Required value/,
    );
  });

  test("events, tokens, the user and the configuration", async () => {
    const kubectl = await inNamespace();
    await kubectl.ok("create -f -", pod("web"));

    const events = await deadline("an event about the pod", async () => {
      const text = await kubectl.ok("get events");
      return text.includes("FailedScheduling") ? text : undefined;
    });
    const config = await kubectl.ok("config view --minify");

    assert.match(
      events,
      /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\S+ +Warning +FailedScheduling +pod\/web +no nodes available/,
    );
    assert.match(
      await kubectl.ok("describe pod web"),
      /Events:[\s\S]*Warning +FailedScheduling[\s\S]*no nodes available/,
    );
    assert.match(config, new RegExp(`server: ${server.url}`));
    if (program.minor < 24) return;
    const token = (await kubectl.ok("create token default --duration=1h")).trim();
    assert.match(
      await kubectl.fails(["get", "pods", "--kubeconfig", tokenConfig(token)]),
      /User "system:serviceaccount:test-\d+-\d+:default" cannot list resource "pods"/,
    );
    if (program.minor >= 28) assert.match(await kubectl.ok("auth whoami"), /Username +kubernetes-admin/);
  });

  const tokenConfig = (token: string): string => {
    const file = path.join(home, `token-${program.minor}`);
    const cluster = { server: server.url, "insecure-skip-tls-verify": true };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  };
}
