import { type Script, type Step } from "./step.ts";
import { named, type Target } from "./target.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const partialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/** The life of an object: every verb, every form of a patch, conditions that hold and that do not. */
export function planVerbs(target: Target, label: string): Script {
  const { path, collection } = target;
  const first: Step = { name: "create", method: "POST", path: `${collection}?fieldManager=one`, body: target.object };
  return {
    name: `verbs ${path}`,
    steps: [
      first,
      ...settle(target),
      ...reads(target, label),
      ...writes(target),
      ...subresources(target),
      ...deletions(target, label),
    ],
  };
}

/** A server that writes the status by itself has done so when the watch ends. */
const settle = ({ path, collection }: Target): Step[] => [
  { name: "wait", method: "GET", path: `${collection}?watch=true&labelSelector=differ%3Dnothing`, forMs: 700 },
  { name: "settled", method: "GET", path },
];

function reads({ path, collection, resource }: Target, label: string): Step[] {
  const get = (name: string, at: string, accept?: string): Step => ({
    name,
    method: "GET",
    path: at,
    ...(accept ? { accept } : {}),
  });
  const mine = `labelSelector=differ%3D${label}`;
  const fields = Object.keys(resource.selectableFields).map((field) =>
    get(`list by ${field}`, `${collection}?${mine}&fieldSelector=${field}%3Dx`),
  );
  return [
    get("get", path),
    get("get missing", `${path}-missing`),
    get("get table", path, table),
    get("get old table", path, table.replace("v=v1", "v=v1beta1")),
    get("get partial", path, partial),
    get("get as protobuf or JSON", path, "application/vnd.kubernetes.protobuf, application/json"),
    get("get YAML", path, "application/yaml"),
    get("get at a resource version", `${path}?resourceVersion=@rv:settled@`),
    get("get pretty", `${path}?pretty=true`),
    get("list", `${collection}?${mine}`),
    get("list table", `${collection}?${mine}`, table),
    get("list table with objects", `${collection}?${mine}&includeObject=Object`, table),
    get("list partial", `${collection}?${mine}`, partialList),
    get("list by name", `${collection}?${mine}&fieldSelector=metadata.name%3D${path.split("/").at(-1)}`),
    get("list by unknown field", `${collection}?fieldSelector=spec.nope%3Dx`),
    ...fields,
    get("list bad selector", `${collection}?labelSelector=a%3D%3D%3Db`),
    get("list nothing", `${collection}?labelSelector=differ%3Dnothing`),
    get("list bad limit", `${collection}?limit=many`),
    get("list exact without version", `${collection}?resourceVersionMatch=Exact`),
    get("list exact", `${collection}?${mine}&resourceVersionMatch=Exact&resourceVersion=@rv:settled@`),
    get("list bad continue", `${collection}?continue=nonsense`),
    get("list in the future", `${collection}?resourceVersion=999999999`),
    { ...get("watch", `${collection}?${mine}&watch=true&resourceVersion=0&timeoutSeconds=1`), forMs: 700 },
    {
      ...get(
        "watch by name",
        `${collection}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dnope&timeoutSeconds=1`,
      ),
      forMs: 700,
    },
  ];
}

function writes(target: Target): Step[] {
  const { path, object, collection } = target;
  const patch = (name: string, type: string, body: Step["body"], query = ""): Step => ({
    name,
    method: "PATCH",
    path: `${path}${query}`,
    type: `application/${type}`,
    ...(body === undefined ? {} : { body }),
  });
  const put = (name: string, metadata: object): Step => ({
    name,
    method: "PUT",
    path,
    body: { ...object, metadata: { ...object.metadata, ...metadata } },
  });
  const label = (key: string, value: unknown) => ({ metadata: { labels: { [key]: value } } });
  return [
    { name: "create again", method: "POST", path: collection, body: object },
    put("update", { resourceVersion: "@rv:settled@", annotations: { changed: "yes" } }),
    put("update stale", { resourceVersion: "1", annotations: { changed: "no" } }),
    put("update without version", { annotations: { changed: "again" } }),
    put("update with another name", { name: "other" }),
    put("update with another uid", { uid: "11111111-2222-3333-4444-555555555555" }),
    put("update bad version", { resourceVersion: "abc" }),
    {
      name: "update missing",
      method: "PUT",
      path: `${path}-missing`,
      body: named(target, `${path.split("/").at(-1)}-missing`),
    },
    patch("merge", "merge-patch+json", label("merged", "yes")),
    patch("merge nothing", "merge-patch+json", {}),
    patch("merge removing", "merge-patch+json", label("merged", null)),
    patch("merge stale", "merge-patch+json", { metadata: { resourceVersion: "1", labels: { x: "y" } } }),
    patch("merge bad label", "merge-patch+json", label("bad key!", "x")),
    patch("merge missing", "merge-patch+json", label("a", "b"), "-missing"),
    patch("merge bad JSON", "merge-patch+json", "{"),
    patch("merge a list", "merge-patch+json", "[]"),
    patch("strategic", "strategic-merge-patch+json", label("strategic", "yes")),
    patch("JSON patch", "json-patch+json", '[{"op":"add","path":"/metadata/labels/json","value":"yes"}]'),
    patch("JSON patch test", "json-patch+json", '[{"op":"test","path":"/metadata/name","value":"nope"}]'),
    patch("JSON patch missing path", "json-patch+json", '[{"op":"remove","path":"/metadata/nope"}]'),
    patch("JSON patch bad op", "json-patch+json", '[{"op":"grow","path":"/metadata/labels"}]'),
    patch("JSON patch object", "json-patch+json", "{}"),
    patch("unknown patch", "weird-patch+json", {}),
    patch("apply", "apply-patch+yaml", object, "?fieldManager=two"),
    patch(
      "apply conflict",
      "apply-patch+yaml",
      { ...object, metadata: { ...object.metadata, labels: { differ: "other" } } },
      "?fieldManager=three",
    ),
    patch("apply without manager", "apply-patch+yaml", object),
    patch(
      "apply forced",
      "apply-patch+yaml",
      { ...object, metadata: { ...object.metadata, annotations: { changed: "forced" } } },
      "?fieldManager=three&force=true",
    ),
    patch("force without apply", "merge-patch+json", label("a", "b"), "?force=true"),
    patch("apply unknown field", "apply-patch+yaml", { ...object, nope: 1 }, "?fieldManager=two"),
    patch("apply dry", "apply-patch+yaml", object, "?fieldManager=four&force=true&dryRun=All"),
    { name: "get after", method: "GET", path },
  ];
}

function subresources({ path, resource, object }: Target): Step[] {
  return resource.subresources
    .filter(({ connects }) => !connects)
    .flatMap(({ name }) => [
      { name: `get ${name}`, method: "GET", path: `${path}/${name}` },
      { name: `post ${name}`, method: "POST", path: `${path}/${name}?dryRun=All`, body: object },
      { name: `put ${name}`, method: "PUT", path: `${path}/${name}?dryRun=All`, body: object },
      {
        name: `patch ${name}`,
        method: "PATCH",
        path: `${path}/${name}?dryRun=All`,
        type: "application/merge-patch+json",
        body: { metadata: { labels: { sub: "yes" } }, spec: { replicas: 7 } },
      },
      { name: `delete ${name}`, method: "DELETE", path: `${path}/${name}` },
    ]);
}

function deletions({ path, collection }: Target, label: string): Step[] {
  const remove = (name: string, body?: object, query = ""): Step => ({
    name,
    method: "DELETE",
    path: `${path}${query}`,
    ...(body ? { body: body as Record<string, unknown> } : {}),
  });
  return [
    remove("delete another uid", { preconditions: { uid: "11111111-2222-3333-4444-555555555555" } }),
    remove("delete stale", { preconditions: { resourceVersion: "1" } }),
    remove("delete bad policy", { propagationPolicy: "Sideways" }),
    remove("delete both policies", { propagationPolicy: "Orphan", orphanDependents: true }),
    remove("delete negative grace", { gracePeriodSeconds: -5 }),
    remove("delete dry", { dryRun: ["All"] }),
    remove("delete bad dry run", { dryRun: ["Some"] }),
    remove("delete missing", undefined, "-missing"),
    remove("delete in the background", { propagationPolicy: "Background", gracePeriodSeconds: 0 }),
    remove("delete again", { gracePeriodSeconds: 0 }),
    { name: "delete collection", method: "DELETE", path: `${collection}?labelSelector=differ%3D${label}` },
    { name: "delete nothing", method: "DELETE", path: `${collection}?labelSelector=differ%3Dnothing` },
    { name: "get gone", method: "GET", path },
  ];
}
