import { type Difference } from "./compare.ts";
import { type Step } from "./step.ts";

interface Explanation {
  /** As docs/server.md says it. */
  readonly reason: string;
  explains(difference: Difference, step: Step): boolean;
}

/** Differences that are meant to be. Each has a line under "Where does it differ from upstream?" in docs/server.md. */
const explanations: readonly Explanation[] = [
  {
    reason: "descriptions are in our own words",
    explains: ({ kind }) => /^object .*\.description string\/string$/.test(kind),
  },
  {
    reason: "what was never set is absent, where upstream writes null",
    explains: ({ kind }) => /^object .* null\/absent$/.test(kind),
  },
  {
    reason: "causes are not repeated and may have another order",
    explains: ({ kind }) => kind === "repeated causes" || kind === "order of causes",
  },
  {
    reason: "values in messages are shown as JSON of the API, not of Go's types",
    explains: ({ kind, upstream, ours }) =>
      kind.startsWith("cause other") && withoutValue(upstream) === withoutValue(ours),
  },
  {
    reason: "the status that a controller in the server writes comes at another moment",
    explains: ({ kind }, { path }) =>
      /^object (rows\[\]\.object\.|items\[\]\.|object\.|\[\]\.object\.)?(status\.(conditions|observedGeneration|typeChecking)|metadata\.managedFields) (list|absent)\/(list|absent|number|object)$/.test(
        kind,
      ) ||
      (/\/(flowschemas|validatingadmissionpolicies)\//.test(path) && kind.includes("managedFields")) ||
      (path.includes("/flowschemas") && kind === "object rows[].cells[] string/string"),
  },
  {
    reason: "an access review says which rule is missing",
    explains: ({ kind, ours }) => kind === "object status.reason absent/string" && ours.includes("no rule allows it"),
  },
  {
    reason: "rules of a SelfSubjectRulesReview have another order",
    explains: ({ kind }, { path }) => kind.startsWith("object status.") && path.includes("selfsubjectrulesreviews"),
  },
  {
    reason: "a resourceVersion that is no number is a conflict, where upstream answers 500",
    explains: (_, { name }) => name === "update bad version",
  },
  {
    reason: "a dry run refuses what the real request refuses",
    explains: ({ kind }, { name, path }) =>
      path.includes("dryRun=All") &&
      (name === "create with a resource version" ||
        (/^code 20[01], ours 422$/.test(kind) && name.includes("nodePort"))),
  },
  {
    reason: "a bad continue token is not parsed in Go's words",
    explains: (_, { name }) => name === "list bad continue",
  },
  {
    reason: "a body that cannot be parsed is refused without Go's words",
    explains: ({ upstream, ours }) =>
      [upstream, ours].every((text) => text.startsWith("the object provided is unrecognized (must be of type ")),
  },
  {
    reason: "upstream's server panics",
    explains: ({ kind, upstream }, { forMs }) =>
      forMs === undefined && (kind.startsWith("code 0,") || (kind === "content type" && upstream === "")),
  },
  {
    reason: "micro times may have fewer than six digits",
    explains: ({ upstream }, { name }) => upstream.includes("2006-01-02T15:04:05.000000Z07:00") || microTime.test(name),
  },
  {
    reason:
      "a value of the wrong type is named by its JSON path and type, without Go's embedded structs and type names",
    explains: ({ upstream, ours }) =>
      [upstream, ours].every((text) => text.includes("json: cannot unmarshal")) &&
      withoutGoNames(upstream) === withoutGoNames(ours),
  },
  {
    reason: "the names of shared parameters in OpenAPI v2 end in a hash of their text",
    explains: ({ kind, upstream, ours }, { path }) =>
      path === "/openapi/v2" &&
      (kind.startsWith("object parameters.") ||
        (kind.includes("parameters[].$ref") && withoutHash(upstream) === withoutHash(ours))),
  },
  {
    reason: "every type and field has a text, unless it would repeat another, and a reference with a text is in allOf",
    explains: ({ kind, upstream, ours }, { path }) =>
      path.startsWith("/openapi/") &&
      (/description (absent\/string|string\/absent)$/.test(kind) ||
        (kind.endsWith(".$ref string/absent") && ours === "absent") ||
        (kind.endsWith(".allOf absent/list") && upstream === "absent")),
  },
  {
    reason: "DeleteOptions and WatchEvent name the groups that are served",
    explains: ({ kind }) => /\.(DeleteOptions|WatchEvent)\.x-kubernetes-group-version-kind list\/list$/.test(kind),
  },
  {
    reason: "the list of OpenAPI v3 documents has the type application/json",
    explains: (_, { path }) => path === "/openapi/v3",
  },
  {
    reason: "the caBundle of an APIService has no list type",
    explains: ({ kind }) => /APIServiceSpec\.properties\.caBundle\.x-kubernetes-list-type string\/absent$/.test(kind),
  },
  {
    reason: "metrics.k8s.io is served by the server itself",
    explains: ({ kind, upstream }) => upstream === "absent" && /\bmetrics\b/.test(kind),
  },
  {
    reason: "a patch that makes a value of the wrong type is refused in the words of other writes",
    explains: ({ upstream, ours }, { method }) =>
      method === "PATCH" &&
      (upstream.startsWith("failed to convert new object ") ||
        [upstream, ours].every((text) => text.startsWith("patch: FieldValueInvalid: Invalid value: "))),
  },
  {
    reason: "a number that does not fit is refused in every patch",
    explains: (_, { method, body }) =>
      method === "PATCH" && /(2147483648|9007199254740992)/.test(JSON.stringify(body ?? "")),
  },
  {
    reason: "a refusal may name more faults, where upstream stops at an earlier one",
    explains: ({ kind }) => kind.startsWith("cause too much "),
  },
  {
    reason: "a required value has no further hint",
    explains: ({ kind, upstream, ours }) =>
      kind.startsWith("cause other") && ours.endsWith(": Required value") && upstream.startsWith(`${ours}: `),
  },
  {
    reason: "expressions of a policy with other faults are not compiled",
    explains: ({ kind }, { path }) =>
      /admissionpolicies|resourceclaim/.test(path) &&
      kind.startsWith("cause missing") &&
      kind.includes("compilation failed"),
  },
  {
    reason: "a fault is at the JSON path of its field",
    explains: ({ kind }) => kind.startsWith("cause missing") && oddPaths.some((path) => path.test(kind)),
  },
  {
    reason: "the volumes of a StatefulSet have the index that they have in its template",
    explains: ({ kind }, { path }) =>
      path.includes("/statefulsets") && kind.startsWith("cause missing spec.template.spec.volumes[N]"),
  },
  {
    reason: "an empty list or map is the same as none",
    explains: ({ kind, upstream, ours }, { name }) =>
      kind.includes("empty selector is invalid for deployment") ||
      (/ = .*(\[\]|\{\}|"")/.test(name) && /only one of|cannot be set/.test(upstream)) ||
      (/ = .*(\[\]|\{\}|"")/.test(name) &&
        (kind.includes("managedFields") ||
          kind.endsWith("absent/list") ||
          kind.includes("restartPolicyRules") ||
          (kind.startsWith("object metadata.generation") && Number(upstream) > Number(ours)))),
  },
  {
    reason: "a schema that is neither an object nor what else may be there is a value of the wrong type",
    explains: ({ kind, upstream }, { path, name }) =>
      path.includes("customresourcedefinitions") &&
      name.includes("openAPIV3Schema") &&
      (upstream.includes("boolean or JSON schema expected") || isNoSchema(name, kind)),
  },
  {
    reason: "the body of a review has at most 256 KiB",
    explains: (_, { path, name }) => path.includes("reviews") && name === "create with large annotations",
  },
  {
    reason: "tables and partial metadata have the annotations of the version",
    explains: ({ kind }, { accept = "" }) =>
      /as=(Table|PartialObjectMetadata)/.test(accept) && /metadata\.annotations absent\/object$/.test(kind),
  },
  {
    reason: "finalize changes the finalizers of a namespace, and nothing else",
    explains: ({ kind }, { path }) => path.includes("/finalize") && kind.startsWith("object metadata."),
  },
  {
    reason: "a table of autoscaling/v1 shows targets in the order of v1",
    explains: ({ kind }, { path }) =>
      path.startsWith("/apis/autoscaling/v1/") && kind === "object rows[].cells[] string/string",
  },
  {
    reason: "a kind is stored in the version that is served",
    explains: ({ kind }) => /\.storageVersionHash string\/string$/.test(kind),
  },
  {
    reason: "an empty text is either missing or not supported",
    explains: ({ kind, ours, upstream }, { name }) =>
      name.endsWith(' = ""') &&
      kind.startsWith("cause other") &&
      [ours, upstream].some((text) => text.includes("Required value")) &&
      [ours, upstream].some((text) => text.includes('Unsupported value: ""')),
  },
  {
    reason: "a name that is too long has too many characters, not bytes",
    explains: ({ kind, upstream, ours }) =>
      kind.startsWith("cause other metadata.name") && upstream.replace(/bytes$/, "characters") === ours,
  },
  {
    reason: "checks that need other objects come after those of the object alone",
    explains: ({ kind }) => kind.startsWith("cause missing") && kind.includes("admin access to devices requires"),
  },
  {
    reason: "an absent apiGroup is not null, so the same source is no conflict",
    explains: (_, { path, name }) => path.includes("/persistentvolumeclaims/") && name.startsWith("apply"),
  },
  {
    reason: "fields of autoscaling/v1 that are annotations have no owner of their own",
    explains: ({ kind }, { path }) => path.startsWith("/apis/autoscaling/v1/") && kind.includes("managedFields"),
  },
  {
    reason: "an update of a part of a pod owns what it changes",
    explains: ({ kind }, { path }) => /\/(ephemeralcontainers|resize)\?/.test(path) && kind.includes("managedFields"),
  },
  {
    reason: "a fault in a condition is Invalid, where upstream answers 500",
    explains: (_, { path, method }) => method === "PATCH" && /\/flowschemas\/.*\/status/.test(path),
  },
  {
    reason: "an object of another kind is refused without Go's types",
    explains: ({ kind, upstream, ours }) =>
      kind.includes("unknown conversion") && upstream.startsWith(`${ours}: converting (`),
  },
  {
    reason: "an unknown field of a selector is refused in the same words for every kind",
    explains: ({ ours }, { name }) =>
      name === "list by unknown field" && ours.startsWith("field label not supported: "),
  },
  {
    reason: "defaults in the status of a CustomResourceDefinition have an owner",
    explains: ({ kind }, { path }) =>
      /customresourcedefinitions\/.*\/status/.test(path) && kind.includes("managedFields"),
  },
  {
    reason: "a table of IPAddresses has as many cells as columns",
    explains: ({ kind }, { path }) => path.includes("/ipaddresses") && kind === "object rows[].cells list/list",
  },
  {
    reason: "details have the name that was generated",
    explains: ({ kind, upstream, ours }) =>
      kind === "object details.name string/string" && ours === `${upstream.slice(0, -1)}<random>"`,
  },
  {
    reason: "a generated name of a CustomResourceDefinition is refused as a name",
    explains: ({ kind }, { path }) =>
      path.includes("customresourcedefinitions") && kind.startsWith("cause missing metadata.generateName"),
  },
  {
    reason: "an update of a ReplicationController warns of its new template, not of the old one",
    explains: ({ kind }, { path }) => path.includes("/replicationcontrollers/") && kind.startsWith("warning "),
  },
  {
    reason: "a refused request may have warnings",
    explains: ({ kind, ours }, { name }) =>
      kind.startsWith("warning too much") &&
      (name === "unknown patch" || (name.includes("RequireDualStack") && ours.includes("deprecated"))),
  },
  {
    reason: "a deleted CustomResourceDefinition is gone at another moment",
    explains: ({ kind }, { path, name }) =>
      path.includes("/customresourcedefinitions/") && name.startsWith("delete") && kind === "code 200, ours 404",
  },
  {
    reason: "HEAD is answered as GET is",
    explains: (_, { method }) => method === "HEAD",
  },
  {
    reason: "events are listed from the cache",
    explains: ({ kind }, { path, name }) =>
      kind.startsWith("object details.retryAfterSeconds") && path.includes("/events") && name === "list in the future",
  },
  {
    reason: "a review that is not stored has no managed fields",
    explains: ({ kind }, { path }) => kind.includes("managedFields") && path.includes("reviews"),
  },
  {
    reason: "an empty list is [], where upstream writes null",
    explains: ({ kind }) => kind.endsWith(" null/list"),
  },
  {
    reason: "ages are of different moments",
    explains: ({ kind, upstream, ours }) =>
      kind.startsWith("object rows[].cells[]") && [upstream, ours].every((text) => /^"\d+s"$/.test(text)),
  },
  {
    reason: "the version names Orlop and its runtime",
    explains: (_, { path }) => path === "/version",
  },
  {
    reason: "the root lists fewer paths",
    explains: ({ kind }, { path }) => path === "/" && kind.startsWith("object paths"),
  },
  {
    reason: "finalizers need a domain in every new object",
    explains: ({ kind }) => kind.includes("cause too much metadata.finalizers"),
  },
  {
    reason: "a LimitRange needs a name",
    explains: ({ kind, upstream }) => kind.startsWith("code 201") && upstream.includes('"name":"<uid>"'),
  },
  {
    reason: "a malformed patch is a bad request, where upstream answers 500",
    explains: ({ kind, upstream, ours }, { method }) =>
      method === "PATCH" &&
      (kind === "code 500, ours 400" ||
        (kind.startsWith("object status.code") && upstream === "500" && ours === "400") ||
        (kind.startsWith("object status.reason absent") && ours === '"BadRequest"') ||
        upstream.startsWith("failed to create typed patch object")),
  },
  {
    reason: "a patch that does not apply says why",
    explains: ({ upstream, ours }) =>
      upstream === "the server rejected our request due to an error in our request" && ours.startsWith(upstream),
  },
];

/** `Volume.spec.VolumeSource.nfs` without the types that Go embeds, and without the name of a type. */
const withoutGoNames = (text: string): string =>
  text
    .replace(/^patch: FieldValueInvalid: Invalid value: .*(?=: json: cannot unmarshal)/s, "patch")
    .replace(/into Go struct field (\w+)\.(\S+) of type .*$/s, (_, type: string, path: string) => {
      const own = path.split(".").filter((part) => !/^[A-Z]/.test(part));
      return `into Go struct field ${type}.${own.join(".")}`;
    });

const withoutValue = (text: string): string =>
  text.replace(/\n@@.*/s, "").replace(/((?:Invalid|Unsupported|Duplicate) value: )(?:null|-?\d+|.*[\]}"]): /s, "$1…: ");

/** A micro time without its six digits. */
const microTime = /(eventTime|acquireTime|renewTime|lastObservedTime) = "[^".]*Z"$/;

/** Where upstream does not name a field as JSON does, or exchanges two of them. */
const oddPaths = [
  /\.persistentDisk\.pdName: /,
  /\.cephFS: /,
  /\.metadata\.uID: /,
  /\.downwardAPI\.path: /,
  /\.downwarAPI: /,
  /^cause missing spec\.version: /,
  /^cause missing spec\.strategy: FieldValueNotSupported/,
  /\.clientConfig\.service\.(name|namespace): FieldValueRequired/,
];

/** `items` of a schema may be a schema or a list; upstream takes a text or number for an empty one. */
const isNoSchema = (name: string, kind: string): boolean =>
  /"(items|additionalItems|additionalProperties)":("text"|7|true)|\[\]|\{\}/.test(name) &&
  (/^code 422, ours (400|409)$/.test(kind) || /^(object (status|details)|cause missing)/.test(kind));

const withoutHash = (text: string): string => text.replace(/-[\w-]{8}"$/, "");

/** Why two answers differ on purpose, or undefined. */
export const explanationOf = (difference: Difference, step: Step): string | undefined =>
  explanations.find(({ explains }) => explains(difference, step))?.reason;
