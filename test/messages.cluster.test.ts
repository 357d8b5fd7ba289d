import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { createServer } from "node:net";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, suite, test } from "node:test";
import { credentialsOf, makeTempDir, type RunningServer, runOrlop, startServer } from "./support/server.ts";

let home: string;
before(() => {
  home = makeTempDir();
});
after(() => rmSync(home, { recursive: true, force: true }));

/** What `orlop server` prints when it does not start; never a stack trace. */
async function refusal(args: readonly string[]): Promise<string> {
  const { code, stderr, stdout } = await runOrlop(["server", "--port", "0", ...args]);
  assert.equal(code, 1, `${stdout}${stderr}`);
  assert.doesNotMatch(stderr, /^\s+at /m);
  return stderr;
}

suite("a server that cannot start says why and what to do", () => {
  test("port in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;

    const said = await refusal(["--data-dir", path.join(home, "port"), "--port", String(port)]);

    other.close();
    assert.equal(
      said,
      `orlop: port ${port} is in use: stop the program that listens there, or choose another port with --port\n`,
    );
  });

  test("a host address that this machine does not have", async () => {
    const said = await refusal(["--data-dir", path.join(home, "host"), "--host", "192.0.2.1"]);

    assert.equal(
      said,
      "orlop: cannot listen on 192.0.2.1: this machine does not have that address: choose another with --host\n",
    );
  });

  test("a data directory in use by another server", async () => {
    await using server = await startServer();

    const said = await refusal(["--data-dir", server.dataDir]);

    assert.equal(
      said,
      `orlop: data directory ${server.dataDir} is in use by process ${server.pid}: stop it or choose another with --data-dir\n`,
    );
  });

  test("commands that would take the data of a running server away", async () => {
    await using server = await startServer();
    const { dataDir, pid } = server;
    const backup = path.join(home, "none.backup");

    for (const args of [["down"], ["restore", backup]]) {
      const { code, stdout, stderr } = await runOrlop([...args, "--data-dir", dataDir]);

      assert.equal(code, 1, stdout);
      const [, program] = /^orlop: `(.*) server` runs with/.exec(stderr) ?? [];
      assert.equal(
        stderr,
        `orlop: \`${program} server\` runs with ${dataDir}: stop it first, with Ctrl-C or \`kill ${pid}\`\n`,
      );
    }
    assert(existsSync(path.join(dataDir, "state.db")));
  });

  test("data of a newer format", async () => {
    const dataDir = path.join(home, "newer");
    await using server = await startServer({ dataDir });
    await server.end("SIGTERM");
    const database = new DatabaseSync(path.join(dataDir, "state.db"));
    database.exec("PRAGMA user_version = 99");
    database.close();

    const said = await refusal(["--data-dir", dataDir]);

    assert.match(said, new RegExp(`^orlop: ${dataDir}/state\\.db was written by a newer Orlop \\(format 99[^)]*\\): `));
    assert.match(said, /: upgrade Orlop or choose another data directory\n$/);
  });

  test("data that is damaged, or somebody else's", async () => {
    const dataDir = path.join(home, "damaged");
    mkdirSync(dataDir);
    writeFileSync(path.join(dataDir, "state.db"), "this is no database, and long enough to be one".repeat(100));
    const file = path.join(home, "file");
    writeFileSync(file, "");

    assert.equal(
      await refusal(["--data-dir", dataDir]),
      `orlop: ${dataDir}/state.db is damaged (file is not a database): restore it from a backup, or move it away to start empty\n`,
    );
    assert.match(
      await refusal(["--data-dir", file]),
      new RegExp(`^orlop: cannot make data directory ${file} \\(EEXIST: .*\\): choose another with --data-dir\n$`),
    );
  });

  test("a token file that is missing, unreadable or malformed", async () => {
    const file = path.join(home, "tokens.csv");
    const said = (): Promise<string> => refusal(["--data-dir", path.join(home, "tokens"), "--token-auth-file", file]);

    assert.equal(
      await said(),
      `orlop: cannot read the token file ${file} (ENOENT: no such file or directory, open '${file}'): check --token-auth-file and that this user may read it\n`,
    );
    mkdirSync(file);
    assert.match(await said(), /cannot read the token file .* \(EISDIR: .*\): check --token-auth-file/);
    rmSync(file, { recursive: true });
    writeFileSync(file, "secret-token,alice,1\nother-secret,bob\n");
    assert.equal(
      await said(),
      `orlop: ${file}:2: must have at least 3 columns (token, user name, user uid), found 2\n`,
    );
    writeFileSync(file, 'secret-token,"alice,1\n');
    assert.equal(await said(), `orlop: ${file}:1: a quote is not closed or is in the middle of a field\n`);
    writeFileSync(file, "secret-token,alice,1\nsecret-token,bob,2\n");
    assert.equal(await said(), `orlop: ${file}:2: the token is also in an earlier line\n`);
  });

  test("damaged certificates and keys", async () => {
    const dataDir = path.join(home, "pki");
    await using server = await startServer({ dataDir });
    await server.end("SIGTERM");
    const pki = path.join(dataDir, "pki");
    const damaged = async (name: string, text = "not a certificate"): Promise<string> => {
      const file = path.join(pki, name);
      const whole = readFileSync(file);
      writeFileSync(file, text);
      const said = await refusal(["--data-dir", dataDir]);
      writeFileSync(file, whole);
      return said.replace(/ \([^()]*(\([^()]*\))?[^()]*\)/, "");
    };

    assert.equal(
      await damaged("server.crt"),
      `orlop: ${pki}/server.crt is damaged: delete server.crt and server.key in ${pki} and start again: new ones are made\n`,
    );
    assert.match(await damaged("ca.crt"), /ca\.crt is damaged: put the file back from a copy, or move \S+ away/);
    assert.match(
      await damaged("service-account.key"),
      /service-account\.key is damaged: put the file back from a copy/,
    );
    const otherKey = readFileSync(path.join(pki, "admin.key"), "utf8");
    assert.match(await damaged("ca.key", otherKey), /ca\.key is not the key of ca\.crt: put the file back/);
  });

  test("wrong flags", async () => {
    const said = async (...args: string[]): Promise<string> => (await refusal(args)).replace(/^orlop: /, "");
    const dataDir = ["--data-dir", path.join(home, "flags")];

    assert.equal(await said(), "--data-dir DIR is required: the directory for the cluster's state and certificates\n");
    assert.equal(await said(...dataDir, "--bogus"), "Unknown option '--bogus'\n");
    assert.equal(
      await said(...dataDir, "--port", "http"),
      '--port must be a whole number from 0 to 65535, not "http"\n',
    );
    assert.equal(
      await said(...dataDir, "--port", "65536"),
      '--port must be a whole number from 0 to 65535, not "65536"\n',
    );
    assert.equal(await said(...dataDir, "--store", "paper"), '--store must be sqlite or memory, not "paper"\n');
    assert.equal(
      await said(...dataDir, "extra"),
      'server takes flags only, not "extra": write --data-dir DIR --port N\n',
    );
    const unknown = await runOrlop(["serve"]);
    assert.equal(unknown.code, 2);
    assert.match(
      unknown.stderr,
      /^orlop: unknown command "serve": did you mean server\?\nusage: orlop COMMAND \[flags\]\n/,
    );
  });
});

suite("a request that cannot be served says why", () => {
  let server: RunningServer;
  let tokens: string;
  before(async () => {
    tokens = path.join(home, "good-tokens.csv");
    writeFileSync(tokens, 'alices-token,alice,1,"team,friends"\n');
    chmodSync(tokens, 0o600);
    server = await startServer({ args: ["--token-auth-file", tokens] });
  });
  after(() => server[Symbol.asyncDispose]());

  interface Told {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly warnings: readonly string[];
  }
  interface Question {
    readonly method?: string;
    readonly path: string;
    readonly body?: string | object;
    readonly type?: string;
    readonly token?: string;
  }

  function ask({ method = "POST", path: url, body, type = "application/json", token }: Question): Promise<Told> {
    const { promise, resolve, reject } = Promise.withResolvers<Told>();
    const { ca, cert, key } = credentialsOf(server);
    const identity = token === undefined ? { cert, key } : {};
    const headers = { "content-type": type, ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const request = https.request(
      `${server.url}${url}`,
      { method, headers, ca, ...identity, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const { code = 0, reason = "", message = "" } = JSON.parse(Buffer.concat(chunks).toString()) as Partial<Told>;
          const warning = response.headers.warning;
          resolve({ code, reason, message, warnings: warning === undefined ? [] : [warning].flat() });
        });
      },
    );
    request.on("error", reject);
    request.end(typeof body === "object" ? JSON.stringify(body) : body);
    return promise;
  }
  const assertTold = ({ code, reason, message }: Told, wanted: [number, string, string]): void =>
    assert.deepEqual([code, reason, message], wanted);

  const configMaps = "/api/v1/namespaces/default/configmaps";
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" } };

  test("bad JSON and bad YAML", async () => {
    assertTold(await ask({ path: configMaps, body: '{"kind": "ConfigMap",,}' }), [
      400,
      "BadRequest",
      `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character ',' looking for beginning of object key string ({"kind": "ConfigMap",,})`,
    ]);
    assertTold(await ask({ path: configMaps, body: "kind: [ConfigMap\nmetadata:\n", type: "application/yaml" }), [
      400,
      "BadRequest",
      "the object provided is unrecognized (must be of type ConfigMap): yaml: line 2: Flow sequence in block collection must be sufficiently indented and end with a ] (6b696e643a205b436f6e6669674d61700a6d657461646174613a0a)",
    ]);
    assertTold(await ask({ path: configMaps, body: "color", type: "text/plain" }), [
      415,
      "UnsupportedMediaType",
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    ]);
  });

  test("unknown fields are refused, warned about or ignored, as requested", async () => {
    const body = { ...configMap, datta: {}, metadata: { name: "unknown", lables: {} } };
    const strict = await ask({ path: `${configMaps}?fieldValidation=Strict`, body });
    const warned = await ask({ path: `${configMaps}?fieldValidation=Warn&dryRun=All`, body });
    const ignored = await ask({ path: `${configMaps}?fieldValidation=Ignore&dryRun=All`, body });

    assertTold(strict, [
      400,
      "BadRequest",
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.lables", unknown field "datta"',
    ]);
    assert.deepEqual(
      warned.warnings.join(", "),
      '299 - "unknown field \\"metadata.lables\\"", 299 - "unknown field \\"datta\\""',
    );
    assert.deepEqual(ignored.warnings, []);
  });

  test("wrong types, values and kinds", async () => {
    assertTold(await ask({ path: configMaps, body: { ...configMap, data: { a: 1 } } }), [
      400,
      "BadRequest",
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ]);
    assertTold(await ask({ path: configMaps, body: { ...configMap, metadata: { name: "Not Valid" } } }), [
      422,
      "Invalid",
      `ConfigMap "Not Valid" is invalid: metadata.name: Invalid value: "Not Valid": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ]);
    assertTold(await ask({ path: configMaps, body: { ...configMap, kind: "Pod" } }), [
      400,
      "BadRequest",
      'Pod in version "v1" cannot be handled as a ConfigMap',
    ]);
    assertTold(await ask({ path: configMaps, body: { ...configMap, apiVersion: "apps/v1" } }), [
      400,
      "BadRequest",
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
    ]);
    assertTold(await ask({ path: configMaps, body: { ...configMap, metadata: { name: "a", namespace: "other" } } }), [
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    ]);
  });

  test("a namespace, an object or a path that does not exist", async () => {
    assertTold(await ask({ path: "/api/v1/namespaces/nowhere/configmaps", body: configMap }), [
      404,
      "NotFound",
      'namespaces "nowhere" not found',
    ]);
    assertTold(await ask({ method: "GET", path: `${configMaps}/nobody` }), [
      404,
      "NotFound",
      'configmaps "nobody" not found',
    ]);
    assertTold(await ask({ method: "GET", path: "/apis/apps/v1/namespaces/default/deployments/nobody" }), [
      404,
      "NotFound",
      'deployments.apps "nobody" not found',
    ]);
    assertTold(await ask({ method: "GET", path: "/api/v1/unicorns" }), [
      404,
      "NotFound",
      "the server could not find the requested resource",
    ]);
    assertTold(await ask({ method: "PUT", path: "/api/v1/nodes", body: {} }), [
      405,
      "MethodNotAllowed",
      "the server does not allow this method on the requested resource",
    ]);
  });

  test("a wrong token, and a valid one without permission", async () => {
    assertTold(await ask({ method: "GET", path: configMaps, token: "wrong" }), [401, "Unauthorized", "Unauthorized"]);
    const refused = await ask({ method: "GET", path: configMaps, token: "alices-token" });
    assertTold(refused, [
      403,
      "Forbidden",
      'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default"',
    ]);
    assertTold(
      await ask({ method: "DELETE", path: "/apis/apps/v1/namespaces/default/deployments/web", token: "alices-token" }),
      [
        403,
        "Forbidden",
        'deployments.apps "web" is forbidden: User "alice" cannot delete resource "deployments" in API group "apps" in the namespace "default"',
      ],
    );
    assertTold(await ask({ method: "GET", path: "/api/v1/nodes", token: "" }), [
      403,
      "Forbidden",
      'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope',
    ]);
    assertTold(await ask({ method: "GET", path: "/metrics", token: "alices-token" }), [
      403,
      "Forbidden",
      'forbidden: User "alice" cannot get path "/metrics"',
    ]);
  });
});
