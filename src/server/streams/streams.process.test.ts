import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { type WebSocketConnection } from "#lib/net/websocket.ts";
import {
  control,
  dataHead,
  goAway,
  rstStream,
  type SpdyFrame,
  SpdyFrameReader,
  synReply,
} from "#lib/proto/spdy/frames.ts";
import { SpdySession } from "#lib/proto/spdy/session.ts";
import { build } from "#testing/build.ts";
import { webSocketPair } from "#testing/peers/web-socket-pair.ts";
import { bridgeChannels, channelProtocols, type WantedStreams } from "./channels.ts";
import { logQuery } from "./log.ts";
import { containerOf } from "./pod-target.ts";
import { tunnel } from "./port-forward.ts";
import { rewriteLink, rewritePieces } from "./rewrite-links.ts";
import { negotiateProtocol } from "./upgrades.ts";

const podWith = (...names: string[]): Pod =>
  build(Pod, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      initContainers: [{ name: "init", image: "i" }],
      containers: names.map((name) => ({ name, image: "i" })),
    },
  });

suite("containerOf()", () => {
  test("returns the only container, or the named one", () => {
    assert.equal(containerOf(podWith("a"), ""), "a");
    assert.equal(containerOf(podWith("a", "b"), "b"), "b");
    assert.equal(containerOf(podWith("a", "b"), "init"), "init");
  });
  test("lists the containers if there are several", () => {
    const message = "a container name must be specified for pod web, choose one of: [init a b]";
    assert.throws(() => containerOf(podWith("a", "b"), ""), { message, code: 400 });
    assert.throws(() => containerOf(podWith("a"), "x"), { message: "container x is not valid for pod web" });
  });
});

const logCases = [
  { asked: "follow=true&previous=false&timestamps", query: "follow=true&timestamps=true" },
  { asked: "tailLines=10&limitBytes=5&sinceSeconds=3", query: "sinceSeconds=3&tailLines=10&limitBytes=5" },
  { asked: "sinceTime=2024-01-02T03:04:05.5%2B01:00", query: "sinceTime=2024-01-02T03%3A04%3A05.5%2B01%3A00" },
  { asked: "limitBytes=0", fault: "limitBytes: Invalid value: 0: must be greater than 0" },
  { asked: "sinceSeconds=0", fault: "sinceSeconds: Invalid value: 0: must be greater than 0" },
  { asked: "stream=Both", fault: 'stream: Unsupported value: "Both": supported values: "All", "Stdout", "Stderr"' },
  {
    asked: "stream=Stdout&tailLines=1",
    fault: ": Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
  },
];
for (const { asked, query, fault } of logCases) {
  test(`logQuery() ${fault ? "refuses" : "passes on"} ${asked}`, () => {
    const result = logQuery(new URLSearchParams(asked));
    const [found] = result.faults;
    assert.equal(found && `${found.path}: ${found.message}`, fault);
    if (query) assert.equal(result.query.toString(), query);
  });
}
test("logQuery() refuses invalid numbers and times", () => {
  assert.throws(() => logQuery(new URLSearchParams("tailLines=")), { message: /parsing "": invalid syntax/ });
  assert.throws(() => logQuery(new URLSearchParams("limitBytes=9e99")), { message: /invalid syntax/ });
  assert.throws(() => logQuery(new URLSearchParams("sinceTime=2024-13-01T00:00:00Z")), { message: /parsing time/ });
});

const rewrite = { prefix: "/api/proxy", backendHost: "10.0.0.1:80", requestHost: "server:6443" };
const links = [
  ["/there?a=1#b", "/api/proxy/there?a=1#b"],
  ["there", "there"],
  ["http://10.0.0.1:80/there/", "/api/proxy/there/"],
  ["https://server:6443/there", "https://server:6443/api/proxy/there"],
  ["http://other/there", "http://other/there"],
  ["//other/there", "//other/there"],
  ["/api/proxy/there", "/api/proxy/there"],
  ["mailto:a@b", "mailto:a@b"],
] as const;
for (const [link, expected] of links) {
  test(`rewriteLink() makes ${link} into ${expected}`, () => assert.equal(rewriteLink(link, rewrite), expected));
}

test("rewritePieces() changes only links", () => {
  const page = `<!DOCTYPE html><!-- <a href="/no"> --><body class=x background='/b.png'>
    <A HREF = /one id="/keep">1 < 2</A> <img alt="a>b" src="/two.png"/> <p title="/keep"> text /keep </body>`;

  assert.equal(
    [...rewritePieces(page, rewrite)].join(""),
    `<!DOCTYPE html><!-- <a href="/no"> --><body class=x background='/api/proxy/b.png'>
    <A HREF = /api/proxy/one id="/keep">1 < 2</A> <img alt="a>b" src="/api/proxy/two.png"/> <p title="/keep"> text /keep </body>`,
  );
});

test("rewritePieces() processes a large page in small steps", () => {
  const page = '<a href="/x">'.repeat(20_000);

  const pieces = [...rewritePieces(page, rewrite)];

  assert.equal(pieces.join(""), '<a href="/api/proxy/x">'.repeat(20_000));
  assert(pieces.every((piece) => piece.length < 40_000));
});

test("negotiateProtocol() chooses the client's first known protocol", () => {
  assert.equal(negotiateProtocol(["v9", "v4", "v5"], ["v5", "v4"]), "v4");
  assert.equal(negotiateProtocol([], ["v5", ""]), "");
  assert.throws(() => negotiateProtocol(["v9"], ["v5", "v4"]), { code: 403, message: /\[v9\]; supports \[v5 v4\]/ });
});

/** A client, the bridge, and a node that the test simulates frame by frame. */
async function aBridge(protocolName: string, wanted: WantedStreams) {
  const { client, server, clientSide, serverSide } = await webSocketPair();
  const [nearSide, nodeSide] = duplexPair();
  const protocol = channelProtocols.get(protocolName);
  assert(protocol);
  const node = new SpdySession(nearSide, { clock: systemClock });
  const done = bridgeChannels({ client: server, node, protocol, wanted, clock: systemClock });
  const reader = new SpdyFrameReader();
  const frames: SpdyFrame[] = [];
  const opened: number[] = [];
  nodeSide.on("data", (chunk: Buffer) => {
    for (const frame of reader.read(chunk)) {
      if (frame.type === "data" || frame.kind !== control.synStream) frames.push(frame);
      else {
        opened.push(frame.payload.readUInt32BE(0));
        nodeSide.write(synReply(frame.payload.readUInt32BE(0), Buffer.alloc(0)));
      }
    }
  });
  nodeSide.on("end", () => nodeSide.end());
  const next = async (): Promise<SpdyFrame> => {
    for (;;) {
      const frame = frames.shift();
      if (frame) return frame;
      await setImmediate();
    }
  };
  const say = (id: number, text: string) =>
    nodeSide.write(Buffer.concat([dataHead(id, text.length), Buffer.from(text)]));
  const destroy = () => {
    for (const side of [clientSide, serverSide, nearSide, nodeSide]) side.destroy();
  };
  return { client, clientSide, node: nodeSide, done, next, say, opened, destroy };
}

async function hear(client: WebSocketConnection): Promise<string[]> {
  const heard: string[] = [];
  for await (const { data } of client.messages()) heard.push(`${data[0]}:${data.toString("utf8", 1)}`);
  return heard;
}

const all = { stdin: true, stdout: true, stderr: true, tty: false };
const [error, stdin, stdout, stderr] = [1, 3, 5, 7];

suite("bridgeChannels()", () => {
  test("translates channels to streams and back, and sends the outcome last", async () => {
    const { client, node, done, next, say } = await aBridge("v5.channel.k8s.io", all);
    const heard = hear(client);
    await client.send("binary", Buffer.of(0), Buffer.from("typed"));
    await client.send("binary", Buffer.of(255, 0));

    const typed = await next();
    const end = await next();
    say(stderr, "e");
    say(stdout, "o");
    say(error, '{"status":"Failure"}');
    for (const id of [error, stdin, stdout, stderr]) node.write(rstStream(id, 5));
    node.write(goAway(0));
    node.end();

    assert(typed.type === "data" && typed.streamId === stdin && typed.data.toString() === "typed");
    assert(end.type === "data" && end.streamId === stdin && end.isLast);
    assert.deepEqual(await heard, ["1:", "2:e", "1:o", '3:{"status":"Failure"}']);
    await done;
  });

  test("opens a resize stream instead of stderr for a terminal", async () => {
    const { client, node, done, next, opened } = await aBridge("v5.channel.k8s.io", { ...all, tty: true });
    const heard = hear(client);
    await client.send("binary", Buffer.of(4), Buffer.from("{}"));

    const size = await next();
    node.end();

    assert.deepEqual(opened, [1, 3, 5, 7]);
    assert(size.type === "data" && size.streamId === 7);
    await heard;
    await done;
  });

  test("reports that the node was lost before the command has ended", async () => {
    const { client, node, done, say, opened } = await aBridge("v4.channel.k8s.io", all);
    const heard = hear(client);
    while (opened.length < 4) await setImmediate();

    say(stdout, "half");
    node.end();

    const [, output, status = ""] = await heard;
    assert.equal(output, "1:half");
    assert.match(status, /^3:.*"status":"Failure","message":"lost the connection to the node"/);
    await done;
  });

  test("accepts at most 64 KiB of a node's outcome", async () => {
    const { client, node, done, say, opened } = await aBridge("v4.channel.k8s.io", all);
    const heard = hear(client);
    while (opened.length < 4) await setImmediate();

    for (let n = 0; n < 20; n++) say(error, "x".repeat(10_000));
    for (const id of [error, stdin, stdout, stderr]) node.write(rstStream(id, 5));
    node.end();

    assert.equal((await heard).at(-1)?.length, 2 + (64 << 10));
    await done;
  });

  test("resets the node's streams when the client leaves", async () => {
    const { clientSide, done, next } = await aBridge("v5.channel.k8s.io", all);

    clientSide.end();

    const kinds = [];
    for (let count = 0; count < 5; count++) {
      const frame = await next();
      kinds.push(frame.type === "control" ? frame.kind : frame.type);
    }
    assert.deepEqual(kinds, [...Array(4).fill(control.rstStream), control.goAway]);
    await done;
    clientSide.resume();
  });

  test("reads neither side faster than the other accepts data", async () => {
    const { node, done, destroy } = await aBridge("v5.channel.k8s.io", all);
    const block = Buffer.concat([dataHead(stdout, 60_000), Buffer.alloc(60_000)]);
    let taken = 0;
    for (; taken < 1000 && node.write(block); taken++) await setImmediate();

    assert(taken < 20, `${taken} blocks were taken while the client read nothing`);

    destroy();
    await done;
  });
});

test("tunnel() translates between messages and bytes", async () => {
  const { client, server } = await webSocketPair();
  const [nearSide, nodeSide] = duplexPair();
  const done = tunnel(server, nearSide, systemClock);
  const heard = (async () => {
    let text = "";
    for await (const { data } of client.messages()) text += data.toString();
    return text;
  })();

  await client.send("binary", Buffer.from("to "));
  await client.send("binary", Buffer.from("node"));
  let received = "";
  while (received.length < 7) {
    received += String(nodeSide.read() ?? "");
    await setImmediate();
  }
  nodeSide.end("to client");

  assert.equal(received, "to node");
  assert.equal(await heard, "to client");
  await done;
  nodeSide.resume();
});
