import assert from "node:assert/strict";
import { chmod, lstat, mkdir, mkdtempDisposable, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { renderKubeconfig } from "#client/kubeconfig/render-kubeconfig.ts";
import { addContext, checkKubeconfig, removeContext, userKubeconfigPath } from "./user-kubeconfig.ts";

const addition = (url: string, isOtherUp = false) => ({
  url,
  kubeconfig: renderKubeconfig({ name: "orlop", user: "orlop", server: url, certificateAuthority: "CA", token: "t" }),
  answers: () => Promise.resolve(isOtherUp),
});

/** As kubeadm writes it; its user has the name that most administrators' certificates have. */
const existing = `# mine
apiVersion: v1
kind: Config
clusters:
- name: work
  cluster: {server: https://work.example}
contexts:
- name: work # the important one
  context: {cluster: work, user: kubernetes-admin}
users:
- name: kubernetes-admin
  user: {token: precious}
current-context: work
preferences: {colors: true}
`;

test("userKubeconfigPath() is where kubectl looks first", () => {
  assert.equal(userKubeconfigPath({ KUBECONFIG: "/a:/b", HOME: "/home/x" }), "/a");
  assert.equal(userKubeconfigPath({ KUBECONFIG: ":", HOME: "/home/x" }), "/home/x/.kube/config");
});

test("adding and removing a context keeps the rest of the file", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const file = path.join(dir.path, "config");
  await writeFile(file, existing, { mode: 0o640 });
  await chmod(file, 0o640);

  await addContext(file, addition("https://127.0.0.1:1"));
  await addContext(file, addition("https://127.0.0.1:2"));
  const added = await readFile(file, "utf8");
  await removeContext(file, "https://127.0.0.1:1");
  assert.equal(await readFile(file, "utf8"), added, "another cluster's");
  await removeContext(file, "https://127.0.0.1:2");
  const removed = await readFile(file, "utf8");

  assert.match(added, /current-context: orlop/);
  assert.equal(added.split("name: orlop").length - 1, 3, "cluster, context and user, once each");
  assert.match(added, /127\.0\.0\.1:2/);
  assert.doesNotMatch(removed, /orlop/);
  for (const text of [added, removed]) {
    for (const kept of ["# mine", "# the important one", "token: precious", "colors: true", "https://work.example"])
      assert.ok(text.includes(kept), `${kept} in ${text}`);
  }
  assert.equal((await stat(file)).mode & 0o777, 0o640);
});

test("a running cluster keeps its context when another starts, and becomes current again when that one ends", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const file = path.join(dir.path, "config");
  const [first, second] = ["https://127.0.0.1:6443", "https://127.0.0.1:7443"];

  const names = [
    await addContext(file, addition(first)),
    await addContext(file, addition(second, true)),
    await addContext(file, addition(second, true)),
  ];
  const both = await readFile(file, "utf8");
  await removeContext(file, second);
  const one = await readFile(file, "utf8");

  assert.deepEqual(names, ["orlop", "orlop-7443", "orlop-7443"]);
  assert.match(both, /current-context: orlop-7443/);
  assert.match(both, /cluster: orlop-7443\n\s+user: orlop-7443/);
  assert.equal(both.split("server: ").length - 1, 2);
  assert.match(one, /current-context: orlop\n/);
  assert.match(one, /127\.0\.0\.1:6443/);
  assert.doesNotMatch(one, /7443/);
});

test("a missing file is created for its owner alone, and an empty one is filled", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const file = path.join(dir.path, "new", "config");
  const empty = path.join(dir.path, "empty");
  await writeFile(empty, "\n");

  for (const each of [file, empty]) await addContext(each, addition("https://127.0.0.1:1"));
  await removeContext(path.join(dir.path, "none"), "https://127.0.0.1:1");

  await removeContext(file, "https://127.0.0.1:1");
  await addContext(file, addition("https://127.0.0.1:1"));
  assert.doesNotMatch(await readFile(file, "utf8"), /[[{"]/, "as people write it, also when it was empty");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  for (const each of [file, empty]) assert.match(await readFile(each, "utf8"), /server: https:\/\/127/);
});

test("a symbolic link stays a link", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const [file, link] = [path.join(dir.path, "real", "config"), path.join(dir.path, "config")];
  await mkdir(path.dirname(file));
  await writeFile(file, existing);
  await symlink(file, link);

  await addContext(link, addition("https://127.0.0.1:1"));

  assert.ok((await lstat(link)).isSymbolicLink());
  assert.match(await readFile(file, "utf8"), /current-context: orlop/);
});

for (const text of ["a: [", "- a list", "just text"]) {
  test(`a file that is not a kubeconfig is refused and left unchanged: ${text}`, async () => {
    await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
    const file = path.join(dir.path, "config");
    await writeFile(file, text);

    await assert.rejects(checkKubeconfig(file), { name: "KubeconfigError" });
    await assert.rejects(addContext(file, addition("https://127.0.0.1:1")), { name: "KubeconfigError" });

    assert.equal(await readFile(file, "utf8"), text);
  });
}
