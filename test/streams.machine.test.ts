import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import https from "node:https";
import net from "node:net";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { systemClock } from "#lib/async/clock.ts";
import { WebSocketConnection } from "#lib/net/websocket.ts";
import { issueClientCertificate } from "#server/http/tls.ts";
import { findKubectls, Kubectl } from "./support/kubectl.ts";
import { deadline } from "./support/server.ts";
import { type StreamNode, startStreamNode } from "./support/stream-node.ts";

const output = "started\noops\n";
const script = `
  echo started; sleep 0.1; echo oops >&2
  mkdir -p /www; echo '<a href="/there">link</a>' > /www/index.html; echo plain > /www/file.txt
  httpd -p 8080 -h /www
  while :; do sleep 1; done`;

suite("streams to a real node", { timeout: 300_000 }, () => {
  let node: StreamNode;
  let agent: https.Agent;

  before(async () => {
    node = await startStreamNode();
    const { key, certificate: cert } = node.pki.admin;
    agent = new https.Agent({ key, cert, ca: node.pki.authority.certificate });
    await node.startPod("web", { command: ["sh", "-c", script] });
    await node.startPod("shell", { command: ["sh"], tty: true, stdin: true });
    await node.startPod("echo", { command: ["cat"], stdin: true });
    // A container has started before its program has done anything.
    await deadline("the log of the pod", async () => (await ask(pathOf("web", "log"))).text === output || undefined);
    await deadline(
      "its web server",
      async () => (await ask(pathOf("web", "proxy/file.txt"))).status === 200 || undefined,
    );
  });
  after(async () => {
    agent?.destroy();
    await node?.[Symbol.asyncDispose]();
  });

  const pathOf = (pod: string, rest: string) => `${node.url}/api/v1/namespaces/default/pods/${pod}/${rest}`;

  for (const program of findKubectls()) {
    suite(program.name, () => {
      const kubectl = (): Kubectl =>
        new Kubectl({ program, kubeconfig: node.kubeconfig, namespace: "default", home: node.home });
      const sh = (text: string): string[] => ["exec", "web", "--", "sh", "-c", text];

      test("exec returns output, errors and exit codes", async () => {
        assert.deepEqual(await kubectl().run(sh("echo out; echo err >&2")), {
          code: 0,
          stdout: "out\n",
          stderr: "err\n",
        });
        const failed = await kubectl().run(sh("echo no; exit 42"));
        assert.deepEqual([failed.code, failed.stdout], [42, "no\n"]);
        assert.match(failed.stderr, /command terminated with exit code 42/);
      });

      test("exec ends its input and passes megabytes unchanged in both directions", async () => {
        const data = randomBytes(3 << 20).toString("base64");
        const { stdout, code } = await kubectl().run(["exec", "-i", "web", "--", "cat"], data);
        assert.equal(code, 0);
        assert.equal(createHash("md5").update(stdout).digest("hex"), createHash("md5").update(data).digest("hex"));
      });

      test("exec has a terminal", async () => {
        const { stdout } = await kubectl().run(["exec", "-i", "-t", "web", "--", "sh", "-c", "echo is $0"], "");
        assert.match(stdout, /is sh/);
      });

      test("exec reports errors", async () => {
        assert.match(await kubectl().fails("exec web -c nope -- true"), /container nope is not valid for pod web/);
        assert.match(await kubectl().fails("exec none -- true"), /pods "none" not found/);
        assert.match(await kubectl().fails("exec web -- /no/such/program"), /no such file or directory/);
      });

      test("cp copies files in and out", async () => {
        const [there, back] = [path.join(node.home, "there"), path.join(node.home, "back")];
        const data = randomBytes(200_000);
        await writeFile(there, data);
        await kubectl().ok(["cp", there, "web:/tmp/copied"]);
        await kubectl().ok(["cp", "web:/tmp/copied", back]);
        assert.equal(
          await kubectl().ok(sh("md5sum < /tmp/copied")),
          `${createHash("md5").update(data).digest("hex")}  -\n`,
        );
      });

      test("attach shows the output of the process", async () => {
        const attached = kubectl().start("attach -i echo");
        attached.child.stdin.write("hello there\n");
        while (!attached.output.stdout.includes("hello there")) {
          assert.equal(attached.child.exitCode, null, attached.output.stderr);
          await pause(20);
        }
        attached.child.kill();
        await attached.ended;
      });

      test("logs can be read, limited and followed", async () => {
        assert.equal(await kubectl().ok("logs web"), output);
        assert.equal(await kubectl().ok("logs web --tail=1"), "oops\n");
        assert.match(await kubectl().ok("logs web --timestamps --tail=1"), /^\d{4}-\d\d-\d\dT\S+Z oops\n$/);
        assert.match(
          await kubectl().fails("logs web --previous"),
          /previous terminated container "main" in pod "web" not found/,
        );
        const following = kubectl().start("logs -f web");
        while (!following.output.stdout.includes("oops")) await pause(20);
        following.child.kill();
        await following.ended;
      });

      test("port-forward carries many connections", async () => {
        const forward = kubectl().start("port-forward pod/web :8080");
        let port = 0;
        while (!port) {
          port = Number(/127\.0\.0\.1:(\d+) ->/.exec(forward.output.stdout)?.[1] ?? 0);
          assert.equal(forward.child.exitCode, null, forward.output.stderr);
          await pause(20);
        }
        try {
          const get = async (): Promise<string> => await (await fetch(`http://127.0.0.1:${port}/file.txt`)).text();
          assert.deepEqual(await Promise.all([get(), get(), get(), get()]), [
            "plain\n",
            "plain\n",
            "plain\n",
            "plain\n",
          ]);
          assert.equal(await get(), "plain\n");
        } finally {
          forward.child.kill();
          await forward.ended;
        }
      });
    });
  }

  const webSocket = async (url: string, protocol: string) => {
    const ws = new WebSocket(url.replace(/^https/, "wss"), protocol ? [protocol] : [], { agent });
    // Created before the socket is open, because the first message may arrive with the handshake's answer.
    const connection = new WebSocketConnection(ws);
    await once(ws, "open");
    assert.equal(ws.protocol, protocol);
    return connection;
  };
  const hear = async (socket: WebSocketConnection, isBase64 = false): Promise<Record<number, string>> => {
    const heard: Record<number, string> = {};
    for await (const { data } of socket.messages()) {
      const number = isBase64 ? Number(data.toString("latin1", 0, 1)) : (data[0] ?? 0);
      const text = isBase64 ? Buffer.from(data.toString("latin1", 1), "base64").toString() : data.toString("utf8", 1);
      heard[number] = (heard[number] ?? "") + text;
    }
    return heard;
  };

  const command = "exec?stdout=1&stderr=1&command=sh&command=-c&command=";
  const fails = encodeURIComponent("echo out; echo err >&2; exit 3");
  for (const protocol of ["v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"]) {
    test(`exec speaks ${protocol}`, async () => {
      const heard = await hear(await webSocket(pathOf("web", command + fails), protocol), protocol.includes("base64"));

      assert.deepEqual([heard[1], heard[2]], ["out\n", "err\n"]);
      const status = JSON.parse(heard[3] ?? "");
      assert.deepEqual([status.status, status.reason], ["Failure", "NonZeroExitCode"]);
      assert.deepEqual(status.details.causes, [{ reason: "ExitCode", message: "3" }]);
    });
  }
  for (const protocol of ["channel.k8s.io", "base64.channel.k8s.io", ""]) {
    test(`exec speaks ${protocol || "no subprotocol"}: the result is reported as text`, async () => {
      const heard = await hear(
        await webSocket(pathOf("web", command + fails), protocol),
        protocol.startsWith("base64"),
      );

      assert.deepEqual([heard[1], heard[2]], ["out\n", "err\n"]);
      assert.match(heard[3] ?? "", /exit code/);
    });
  }

  test("exec ends its input when a v5 client closes that channel, and reports success", async () => {
    const socket = await webSocket(pathOf("web", "exec?stdin=1&stdout=1&command=md5sum"), "v5.channel.k8s.io");
    await socket.send("binary", Buffer.of(0), Buffer.from("hello"));
    await socket.send("binary", Buffer.of(255, 0));

    const heard = await hear(socket);

    assert.equal(heard[1], `${createHash("md5").update("hello").digest("hex")}  -\n`);
    assert.equal(JSON.parse(heard[3] ?? "").status, "Success");
    assert.equal(socket.closedBy?.code, 1000);
  });

  test("exec passes the terminal's size", async () => {
    // The size arrives after the command has started.
    const stty = encodeURIComponent("until stty size | grep 123; do sleep 0.05; done");
    const url = pathOf("web", `exec?stdin=1&stdout=1&tty=1&command=sh&command=-c&command=${stty}`);
    const socket = await webSocket(url, "v5.channel.k8s.io");
    await socket.send("binary", Buffer.of(4), Buffer.from('{"Width":123,"Height":45}'));

    assert.match((await hear(socket))[1] ?? "", /45 123/);
  });

  test("logs are sent over WebSockets", async () => {
    const socket = await webSocket(pathOf("web", "log"), "binary.k8s.io");
    let text = "";
    for await (const { data } of socket.messages()) text += data.toString();

    assert.equal(text, output);
  });

  test("port-forward over WebSockets with channels is passed to the runtime unchanged", async () => {
    const socket = await webSocket(pathOf("web", "portforward?ports=8080"), "v4.channel.k8s.io");
    await socket.send("binary", Buffer.of(0), Buffer.from("GET /file.txt HTTP/1.0\r\n\r\n"));
    let text = "";
    for await (const { data } of socket.messages()) {
      if (data[0] === 0) text += data.toString("latin1", 1);
      if (text.includes("plain\n")) break;
    }
    socket.close();

    // Each channel begins with its port number.
    assert.equal(text.slice(0, 2), "\x90\x1f");
    assert.match(text, /200 OK/);
  });

  const ask = async (url: string, options: https.RequestOptions = {}): Promise<Reply> =>
    await new Promise((resolve, reject) => {
      const request = https.request(url, { agent, ...options }, async (response) => {
        let text = "";
        for await (const chunk of response) text += String(chunk);
        resolve({ status: response.statusCode, headers: response.headers, text });
      });
      request.once("error", reject).end();
    });

  test("pods are reached through the proxy, and links in their pages lead through it too", async () => {
    const home = "/api/v1/namespaces/default/pods/web/proxy";

    const file = await ask(pathOf("web", "proxy/file.txt"));
    const page = await ask(pathOf("web:8080", "proxy/"));
    const bare = await ask(pathOf("web", "proxy"));

    assert.deepEqual([file.status, file.text], [200, "plain\n"]);
    assert.equal(page.text, `<a href="${home.replace("web", "web:8080")}/there">link</a>\n`);
    assert.deepEqual([bare.status, bare.headers.location], [301, `${home}/`]);
    assert.equal((await ask(pathOf("web:1", "proxy/"))).status, 503);
    assert.equal((await ask(pathOf("a:b:c:d", "proxy/"))).status, 400);
  });

  test("the kubelet's server is reached through the proxy, and not without a client certificate", async () => {
    const proxied = await ask(`${node.url}/api/v1/nodes/one/proxy/stats/summary`);
    const metrics = await ask(`${node.url}/api/v1/nodes/one:${node.nodePort}/proxy/metrics/resource`);
    const direct = await ask(`https://127.0.0.1:${node.nodePort}/healthz`, {
      agent: new https.Agent({ rejectUnauthorized: false }),
    });

    assert.equal(JSON.parse(proxied.text).node.nodeName, "one");
    assert.match(metrics.text, /^node_memory_working_set_bytes \d+ \d+$/m);
    assert.equal(direct.status, 401);
  });

  test("the kubelet's server asks the API server about clients with a token", async () => {
    const { client } = node;
    const spec = { expirationSeconds: 3600 };
    const issued = await client.raw("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {
      body: Buffer.from(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec })),
      headers: { "content-type": "application/json" },
    });
    const { token } = JSON.parse(Buffer.from(issued.body).toString()).status;
    const headers = { authorization: `Bearer ${token}` };
    const scrape = () =>
      ask(`https://127.0.0.1:${node.nodePort}/metrics/resource`, {
        agent: new https.Agent({ rejectUnauthorized: false }),
        headers,
      });

    const before = await scrape();
    await client.create(ClusterRole, {
      metadata: { name: "scraper" },
      rules: [{ apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] }],
    });
    await client.create(ClusterRoleBinding, {
      metadata: { name: "scraper" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "scraper" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
    });
    const afterwards = await scrape();

    assert.equal(before.status, 403);
    assert.match(before.text, /user=system:serviceaccount:default:default, verb=get, resource=nodes/);
    assert.equal(afterwards.status, 200);
  });

  test("a user who may only get cannot exec with a GET request", async () => {
    const { client, pki } = node;
    await client.create(ClusterRole, {
      metadata: { name: "looker" },
      rules: [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] }],
    });
    await client.create(ClusterRoleBinding, {
      metadata: { name: "looker" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "looker" },
      subjects: [{ kind: "User", name: "bob", apiGroup: "rbac.authorization.k8s.io" }],
    });
    const { key, certificate: cert } = issueClientCertificate(pki, systemClock, { commonName: "bob" });
    const bob = new https.Agent({ key, cert, ca: pki.authority.certificate });

    const reply = await ask(pathOf("web", "exec?command=id&stdout=1"), { agent: bob });

    assert.equal(reply.status, 403);
    assert.match(reply.text, /User \\"bob\\" cannot create resource \\"pods\/exec\\"/);
  });

  const refusals = [
    {
      what: "exec without an upgrade",
      path: "exec?command=ls&stdout=1",
      status: 400,
      text: /Upgrade request required/,
    },
    { what: "a bad tail", path: "log?tailLines=x", status: 400, text: /strconv.ParseInt: parsing .*invalid syntax/ },
    {
      what: "a negative tail",
      path: "log?tailLines=-1",
      status: 422,
      text: /tailLines: Invalid value: -1: must be gr/,
    },
    {
      what: "two beginnings",
      path: "log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
      status: 422,
      text: /at most one/,
    },
    { what: "no time", path: "log?sinceTime=yesterday", status: 400, text: /parsing time/ },
    { what: "another container", path: "log?container=x", status: 400, text: /container x is not valid for pod web/ },
  ];
  for (const { what, path: rest, status, text } of refusals) {
    test(`${what} is refused`, async () => {
      const reply = await ask(pathOf("web", rest));
      assert.equal(reply.status, status);
      assert.match(JSON.parse(reply.text).message, text);
    });
  }

  test("the streams of a client end when it disconnects", async () => {
    const connections = async (): Promise<number> => (await openSockets(node.nodePort)).length;
    const socket = await webSocket(pathOf("web", "exec?stdin=1&stdout=1&command=cat"), "v5.channel.k8s.io");
    const follow = https.get(pathOf("web", "log?follow=true"), { agent });
    follow.on("error", () => {});
    await new Promise((resolve) => follow.once("response", resolve));
    assert((await connections()) >= 2);

    socket.close();
    follow.destroy();

    while ((await connections()) > 0) await pause(50);
  });
});

interface Reply {
  readonly status: number | undefined;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

/** Connections of this process to a port of this machine. */
async function openSockets(port: number): Promise<unknown[]> {
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  return handles.filter((handle) => handle instanceof net.Socket && handle.remotePort === port);
}
