import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { formatLevel } from "../pod-security/levels.ts";
import { loadAdmissionConfiguration } from "./admission-configuration.ts";

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";
const podSecurity = `apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
`;
const indented = (text: string) => text.replaceAll(/^/gm, "    ");
const inline = (fields: string) =>
  `${head}plugins:\n- name: PodSecurity\n  configuration:\n${indented(podSecurity + fields)}`;

/** Loads the files with these contents; the first one is named by the flag. `DIR` in a message is their directory. */
async function load(files: Record<string, string>) {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-admission-"));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(dir.path, name), text);
  const [first = ""] = Object.keys(files);
  return await loadAdmissionConfiguration(path.join(dir.path, first)).catch((error: Error) => {
    error.message = error.message.replaceAll(dir.path, "DIR");
    throw error;
  });
}

const sound = `defaults:
  enforce: baseline
  enforce-version: v1.30
  warn: restricted
exemptions:
  usernames: [jane]
  namespaces: [kube-system]
  runtimeClasses: [kata]
`;

for (const [name, files] of [
  ["in the file itself", { "a.yaml": inline(sound) }],
  [
    "in another file",
    { "a.yaml": `${head}plugins: [{name: PodSecurity, path: b.yaml}]`, "b.yaml": podSecurity + sound },
  ],
] as const) {
  test(`loadAdmissionConfiguration() reads the configuration of PodSecurity ${name}`, async () => {
    const { podSecurity } = await load(files);
    assert(podSecurity);
    const { enforce, audit, warn } = podSecurity.defaults;
    assert.deepEqual([enforce, audit, warn].map(formatLevel), [
      "baseline:v1.30",
      "privileged:latest",
      "restricted:latest",
    ]);
    assert.deepEqual(podSecurity.exemptions, {
      usernames: new Set(["jane"]),
      namespaces: new Set(["kube-system"]),
      runtimeClasses: new Set(["kata"]),
    });
  });
}

test("loadAdmissionConfiguration() reads a file that configures nothing", async () => {
  assert.deepEqual(await load({ "a.yaml": head }), {});
});

const faults: readonly (readonly [text: string, message: string | RegExp])[] = [
  ["kind: Pod", 'DIR/a.yaml: kind: must be AdmissionConfiguration, not "Pod"'],
  [
    `${head}plugins: [{name: Typo}]`,
    'DIR/a.yaml: plugins[0].name: Unsupported value: "Typo": supported values: "PodSecurity"',
  ],
  [
    `${head}plugins: [{name: PodSecurity}]`,
    "DIR/a.yaml: plugins[0]: has neither configuration nor path: write what PodSecurity needs into configuration, or name a file in path",
  ],
  [
    `${head}plugins: [{name: PodSecurity, path: gone.yaml}]`,
    /^cannot read DIR\/gone.yaml \(ENOENT.*check --admission-control-config-file/,
  ],
  [`${head}plugin: []`, "DIR/a.yaml: plugin: there is no such field in AdmissionConfiguration"],
  [
    inline("defaults: {enforce: high, warn-version: v2}"),
    'DIR/a.yaml: plugins[0].configuration: defaults.enforce: Invalid value: "high": must be one of privileged, baseline, restricted; defaults.warn-version: Invalid value: "v2": must be "latest" or "v1.x"',
  ],
  [
    inline('exemptions: {usernames: ["", a, a], namespaces: [A], runtimeClasses: [_]}'),
    /configuration: exemptions\.usernames\[0\]: Invalid value: "": username must not be empty; exemptions\.usernames\[2\]: Duplicate value: "a"; exemptions\.namespaces\[0\]: Invalid value: "A": .*; exemptions\.runtimeClasses\[0\]: Invalid value: "_"/,
  ],
];
for (const [text, message] of faults) {
  test(`loadAdmissionConfiguration() refuses ${JSON.stringify(text.replace(head, ""))} in one line`, async () => {
    await assert.rejects(load({ "a.yaml": text }), { name: "ConfigFileError", message });
  });
}
