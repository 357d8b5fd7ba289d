import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { type Resource } from "../resource.ts";
import { MutatingWebhookConfiguration } from "./mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "./validating-webhook-configuration.ts";

const metadata = { name: "hooks" };
const rule = { operations: ["CREATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"] };
const webhook = {
  name: "a.example.com",
  clientConfig: { url: "https://example.com/check" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};
const having = (changes: object): object => ({ metadata, webhooks: [{ ...webhook, ...changes }] });
const byService = (service: object): object => having({ clientConfig: { service } });
const byUrl = (url: string): object => having({ clientConfig: { url } });
const ruled = (changes: object): object => having({ rules: [{ ...rule, ...changes }] });

test("webhooks get their defaults", () => {
  const clientConfig = { service: { namespace: "n", name: "s" } };
  const sent = { metadata, webhooks: [{ ...webhook, clientConfig, rules: [rule] }] };

  const [validating] = read(ValidatingWebhookConfiguration, sent).webhooks ?? [];
  const [mutating] = read(MutatingWebhookConfiguration, sent).webhooks ?? [];

  const filled = {
    ...webhook,
    clientConfig: { service: { namespace: "n", name: "s", port: 443 } },
    rules: [{ ...rule, scope: "*" }],
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  };
  assert.deepEqual(validating, filled);
  assert.deepEqual(mutating, { ...filled, reinvocationPolicy: "Never" });
});

const form = "; desired format: https://host[/path]";
const segment =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const cases: readonly { name: string; object: object; faults: string[] }[] = [
  { name: "need no webhooks", object: { metadata }, faults: [] },
  { name: "can have webhooks without rules", object: having({}), faults: [] },
  {
    name: "need what tells how and when a webhook is called",
    object: { metadata, webhooks: [{}] },
    faults: [
      "webhooks[0].name: Required value",
      "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
      "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ],
  },
  {
    name: "have webhooks with names of three parts",
    object: {
      metadata,
      webhooks: [
        { ...webhook, name: "example.com" },
        { ...webhook, name: "A.b.c" },
      ],
    },
    faults: [
      'webhooks[0].name: Invalid value: "example.com": should be a domain with at least three segments separated by dots',
      `webhooks[1].name: Invalid value: "A.b.c": ${segment}`,
    ],
  },
  {
    name: "have no two webhooks of one name",
    object: { metadata, webhooks: [webhook, webhook] },
    faults: ['webhooks[1].name: Duplicate value: "a.example.com"'],
  },
  {
    name: "refuse webhooks with side effects",
    object: having({ sideEffects: "Some" }),
    faults: ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
  },
  {
    name: "know the policies",
    object: having({ failurePolicy: "Retry", matchPolicy: "Similar" }),
    faults: [
      'webhooks[0].failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"',
      'webhooks[0].matchPolicy: Unsupported value: "Similar": supported values: "Equivalent", "Exact"',
    ],
  },
  {
    name: "limit how long a webhook may take",
    object: {
      metadata,
      webhooks: [
        { ...webhook, timeoutSeconds: 0 },
        { ...webhook, name: "b.example.com", timeoutSeconds: 31 },
      ],
    },
    faults: [
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
      "webhooks[1].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    ],
  },
  {
    name: "check selectors",
    object: having({ namespaceSelector: { matchExpressions: [{ key: "a", operator: "Is" }] } }),
    faults: [
      'webhooks[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ],
  },
  {
    name: "need a version of reviews that is known",
    object: having({ admissionReviewVersions: ["v2", "v2"] }),
    faults: [
      'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
      'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
    ],
  },
  {
    name: "may name versions of reviews that are not known",
    object: having({ admissionReviewVersions: ["v2", "v1"] }),
    faults: [],
  },
  {
    name: "reach a webhook in one way",
    object: having({ clientConfig: { url: "https://a", service: { namespace: "n", name: "s" } } }),
    faults: ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
  },
  {
    name: "refuse URLs that are none",
    object: byUrl("https://a b/"),
    faults: [
      `webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://a b/": invalid character " " in host name${form}`,
    ],
  },
  {
    name: "refuse every part of a URL that is not allowed",
    object: byUrl("http://user@/?q#f"),
    faults: [
      `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}`,
      `webhooks[0].clientConfig.url: Invalid value: "": host must be specified${form}`,
      'webhooks[0].clientConfig.url: Invalid value: "user": user information is not permitted in the URL',
      'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
      'webhooks[0].clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
    ],
  },
  {
    name: "take a service with a path",
    object: byService({ namespace: "n", name: "s", path: "/a/b/", port: 1 }),
    faults: [],
  },
  {
    name: "need the whole service",
    object: byService({ port: 65_536 }),
    faults: [
      "webhooks[0].clientConfig.service.name: Required value",
      "webhooks[0].clientConfig.service.namespace: Required value",
      "webhooks[0].clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive",
    ],
  },
  {
    name: "check each step of a path",
    object: byService({ namespace: "n", name: "s", path: "a/B" }),
    faults: [
      "webhooks[0].clientConfig.service.path: Invalid value: \"a/B\": must start with a '/'",
      'webhooks[0].clientConfig.service.path: Invalid value: "a/B": segment[0] may not be empty',
      `webhooks[0].clientConfig.service.path: Invalid value: "a/B": segment[1]: ${segment}`,
    ],
  },
  {
    name: "limit the length of a URL",
    object: byUrl(`https://example.com/${"a".repeat(8192)}`),
    faults: ["webhooks[0].clientConfig.url: Too long: may not be more than 8192 bytes"],
  },
  {
    name: "limit the length of a path",
    object: byService({ namespace: "n", name: "s", path: "/a".repeat(5000) }),
    faults: ["webhooks[0].clientConfig.service.path: Too long: may not be more than 8192 bytes"],
  },
  {
    name: "refuse a path without steps",
    object: byService({ namespace: "n", name: "s", path: "//" }),
    faults: ['webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty'],
  },
  {
    name: "take the usual rules",
    object: ruled({ resources: ["pods", "pods/log", "*/scale", "nodes/*"] }),
    faults: [],
  },
  {
    name: "need whole rules",
    object: having({ rules: [{}] }),
    faults: ["operations", "apiGroups", "apiVersions", "resources"].map(
      (name) => `webhooks[0].rules[0].${name}: Required value`,
    ),
  },
  {
    name: "know the operations and scopes",
    object: ruled({ operations: ["PATCH", ""], scope: "Node" }),
    faults: [
      'webhooks[0].rules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
      'webhooks[0].rules[0].scope: Unsupported value: "Node": supported values: "*", "Cluster", "Namespaced"',
      'webhooks[0].rules[0].operations[1]: Unsupported value: "": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
  },
  {
    name: "have nothing besides a wildcard",
    object: ruled({
      operations: ["*", "CREATE"],
      apiGroups: ["a", "*"],
      apiVersions: ["*", ""],
      resources: ["*/*", "a"],
    }),
    faults: [
      'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
      'webhooks[0].rules[0].apiGroups: Invalid value: ["a","*"]: if \'*\' is present, must not specify other API groups',
      'webhooks[0].rules[0].apiVersions: Invalid value: ["*",""]: if \'*\' is present, must not specify other API versions',
      "webhooks[0].rules[0].apiVersions[1]: Required value",
      'webhooks[0].rules[0].resources: Invalid value: ["*/*","a"]: if \'*/*\' is present, must not specify other resources',
    ],
  },
  {
    name: "name no resource twice",
    object: ruled({ resources: ["a/*", "a/x", "*/y", "b/y", "", "*", "c"] }),
    faults: [
      "webhooks[0].rules[0].resources[1]: Invalid value: \"a/x\": if 'a/*' is present, must not specify a/x",
      "webhooks[0].rules[0].resources[3]: Invalid value: \"b/y\": if '*/y' is present, must not specify b/y",
      "webhooks[0].rules[0].resources[4]: Required value",
      'webhooks[0].rules[0].resources: Invalid value: ["a/*","a/x","*/y","b/y","","*","c"]: if \'*\' is present, must not specify other resources without subresources',
    ],
  },
  {
    name: "need names and expressions of conditions",
    object: having({
      matchConditions: [{ name: "a", expression: " " }, { expression: "true" }, { name: "a", expression: "true" }],
    }),
    faults: [
      "webhooks[0].matchConditions[0].expression: Required value",
      "webhooks[0].matchConditions[1].name: Required value",
      'webhooks[0].matchConditions[2].name: Duplicate value: "a"',
    ],
  },
  {
    name: "limit the number of conditions",
    object: having({
      matchConditions: Array.from({ length: 65 }, (_, at) => ({ name: `c${at}`, expression: "true" })),
    }),
    faults: ["webhooks[0].matchConditions: Too many: 65: must have at most 64 items"],
  },
];

const kinds: readonly Resource[] = [ValidatingWebhookConfiguration, MutatingWebhookConfiguration];
for (const resource of kinds) {
  suite(`${resource.kind}s`, () => {
    for (const { name, object, faults } of cases) {
      test(name, () => assert.deepEqual(faultsOf(resource, object), faults));
    }
  });
}

test("a MutatingWebhookConfiguration knows when a webhook may be called again", () => {
  assert.deepEqual(faultsOf(MutatingWebhookConfiguration, having({ reinvocationPolicy: "Always" })), [
    'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"',
  ]);
});

test("an update of a webhook has to be as sound as a new one", () => {
  const changed = having({ sideEffects: "Unknown" });

  assert.deepEqual(updateFaultsOf(ValidatingWebhookConfiguration, changed, having({})), [
    'webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"',
  ]);
  assert.deepEqual(updateFaultsOf(ValidatingWebhookConfiguration, having({ timeoutSeconds: 5 }), having({})), []);
});

test("a configuration shows how many webhooks it has", () => {
  const { columns } = ValidatingWebhookConfiguration;
  const cells = (object: object) => columns.map(({ value }) => value(read(ValidatingWebhookConfiguration, object), 0));

  assert.deepEqual(
    columns.map(({ name }) => name),
    ["Webhooks", "Age"],
  );
  assert.deepEqual(cells(having({})), [1, "<unknown>"]);
  assert.deepEqual(cells({ metadata }), [0, "<unknown>"]);
});

test("names that upstream keeps for itself are warned of", () => {
  const warnings = warningsOfNew(MutatingWebhookConfiguration, { metadata: { name: "a.static.k8s.io" } });

  assert.deepEqual(warnings, [
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
  ]);
  assert.deepEqual(warningsOfNew(MutatingWebhookConfiguration, { metadata }), []);
});
