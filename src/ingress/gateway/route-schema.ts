import {
  backendRefs,
  choice,
  connectionFields,
  duration,
  extensionRef,
  fewMatches,
  filterRules,
  headerModifier,
  headerName,
  keyed,
  list,
  onlyOnce,
  type Part,
  port,
  preciseHostname,
  type Rule,
  requestMirror,
  routeFields,
  sectionName,
  struct,
  text,
  withRules,
} from "./schema-parts.ts";

const pathChange = struct(
  "How the path changes.",
  {
    type: choice("Whether all of it changes or what matched.", ["ReplaceFullPath", "ReplacePrefixMatch"]),
    replaceFullPath: text("The new path.", { maxLength: 1024 }),
    replacePrefixMatch: text("What the prefix becomes.", { maxLength: 1024 }),
  },
  {
    required: ["type"],
    rules: (["ReplaceFullPath", "ReplacePrefixMatch"] as const).flatMap((type): Rule[] => {
      const field = type === "ReplaceFullPath" ? "replaceFullPath" : "replacePrefixMatch";
      return [
        [
          `self.type == '${type}' ? has(self.${field}) : true`,
          `${field} must be specified when type is set to '${type}'`,
        ],
        [`has(self.${field}) ? self.type == '${type}' : true`, `type must be '${type}' when ${field} is set`],
      ];
    }),
  },
);

const commonFilters = {
  requestHeaderModifier: headerModifier("Changes headers of requests."),
  responseHeaderModifier: headerModifier("Changes headers of answers."),
  requestMirror,
  extensionRef,
};
const commonTypes = {
  requestHeaderModifier: "RequestHeaderModifier",
  responseHeaderModifier: "ResponseHeaderModifier",
  requestMirror: "RequestMirror",
  extensionRef: "ExtensionRef",
};
const httpTypes = { ...commonTypes, requestRedirect: "RequestRedirect", urlRewrite: "URLRewrite", cors: "CORS" };

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
const starAlone = (field: string, others: string): Part =>
  withRules([[`!('*' in self && self.size() > 1)`, `${field} cannot contain '*' alongside other ${others}`]]);
const setOf = (description: string, items: Part, maxItems: number, rules: Part = {}): Part =>
  list(description, items, maxItems, { "x-kubernetes-list-type": "set", ...rules });
const corsOrigin = text("A scheme and a host, with a port if it is not the usual one; * stands for any.", {
  ...{ minLength: 1, maxLength: 253 },
  pattern: "(^\\*$)|(^(http(s)?):\\/\\/(((\\*\\.)?([a-zA-Z0-9\\-]+\\.)*[a-zA-Z0-9-]+|\\*)(:([0-9]{1,5}))?)$)",
});
const cors = struct("Lets pages of other sites use the route.", {
  allowOrigins: setOf("Sites whose pages may use it.", corsOrigin, 64, starAlone("AllowOrigins", "origins")),
  allowCredentials: { type: "boolean", description: "Whether their requests may carry credentials." },
  allowMethods: setOf(
    "Methods that they may use.",
    choice("A method.", [...methods, "*"]),
    9,
    starAlone("AllowMethods", "methods"),
  ),
  allowHeaders: setOf(
    "Headers that they may send.",
    headerName("Name of a header."),
    64,
    starAlone("AllowHeaders", "methods"),
  ),
  exposeHeaders: setOf("Headers of answers that they may read.", headerName("Name of a header."), 64),
  maxAge: {
    ...{ type: "integer", format: "int32", minimum: 1, default: 5 },
    description: "For how many seconds browsers may remember this.",
  },
});

const httpFilter = struct(
  "Changes requests or answers.",
  {
    type: choice("What the filter does.", Object.values(httpTypes)),
    ...commonFilters,
    requestRedirect: struct("Sends clients elsewhere.", {
      scheme: choice("The new scheme.", ["http", "https"]),
      hostname: preciseHostname("The new host."),
      path: pathChange,
      port: port("The new port."),
      statusCode: {
        type: "integer",
        description: "The status of the answer.",
        default: 302,
        enum: [301, 302, 303, 307, 308],
      },
    }),
    urlRewrite: struct("Changes what the backend is asked for.", {
      hostname: preciseHostname("The new host."),
      path: pathChange,
    }),
    cors,
  },
  { required: ["type"], rules: filterRules(httpTypes) },
);
const httpFilters = list("What changes on the way.", httpFilter, 16, {
  ...withRules([
    [
      "!(self.exists(f, f.type == 'RequestRedirect') && self.exists(f, f.type == 'URLRewrite'))",
      "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
    ],
    ...onlyOnce("CORS", "RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite"),
  ]),
});

const grpcFilter = struct(
  "Changes calls or answers.",
  { type: choice("What the filter does.", Object.values(commonTypes)), ...commonFilters },
  { required: ["type"], rules: filterRules(commonTypes) },
);
const grpcFilters = list("What changes on the way.", grpcFilter, 16, {
  ...withRules(onlyOnce("RequestHeaderModifier", "ResponseHeaderModifier")),
});

const how = choice("How the value is compared.", ["Exact", "RegularExpression"], { default: "Exact" });
const valueMatches = (description: string, maxLength: number): Part =>
  keyed(
    description,
    "name",
    struct(
      "A name and a value.",
      { type: how, name: headerName("The name."), value: text("The value.", { minLength: 1, maxLength }) },
      { required: ["name", "value"] },
    ),
    { maxItems: 16 },
  );

const isPlain = "(self.type in ['Exact','PathPrefix'])";
const forbidden = ["//", "/./", "/../", "%2f", "%2F", "#"];
const pathMatch = struct(
  "The path of the requests.",
  {
    type: choice("How the path is compared.", ["Exact", "PathPrefix", "RegularExpression"], { default: "PathPrefix" }),
    value: text("The path.", { maxLength: 1024, default: "/" }),
  },
  {
    default: { type: "PathPrefix", value: "/" },
    rules: [
      [
        `${isPlain} ? self.value.startsWith('/') : true`,
        "value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
      ],
      ...forbidden.map(
        (part): Rule => [
          `${isPlain} ? !self.value.contains('${part}') : true`,
          `must not contain '${part}' when type one of ['Exact', 'PathPrefix']`,
        ],
      ),
      ...["/..", "/."].map(
        (end): Rule => [
          `${isPlain} ? !self.value.endsWith('${end}') : true`,
          `must not end with '${end}' when type one of ['Exact', 'PathPrefix']`,
        ],
      ),
      [
        `${isPlain} ? self.value.matches(r"""^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$""") : true`,
        "must only contain valid characters for types ['Exact', 'PathPrefix']",
      ],
    ],
  },
);

const httpMatch = struct("Requests that the rule is for. All parts must match.", {
  path: pathMatch,
  headers: valueMatches("Headers of the requests.", 4096),
  queryParams: valueMatches("Query parameters of the requests.", 1024),
  method: choice("Method of the requests.", methods),
});

const onePrefix = "size(self.matches) == 1 && has(self.matches[0].path) && self.matches[0].path.type == 'PathPrefix'";
const replaces = (field: string): string =>
  `has(self.filters) && self.filters.exists_one(f, has(f.${field}) && has(f.${field}.path) && f.${field}.path.type == 'ReplacePrefixMatch')`;
const ruleRules: readonly Rule[] = [
  [
    "(has(self.backendRefs) && size(self.backendRefs) > 0) ? (!has(self.filters) || self.filters.all(f, !has(f.requestRedirect))): true",
    "RequestRedirect filter must not be used together with backendRefs",
  ],
  ...["requestRedirect", "urlRewrite"].map(
    (field): Rule => [
      `(${replaces(field)}) ? (${onePrefix}) : true`,
      "When using a filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
    ],
  ),
];

const everyPath = [{ path: { type: "PathPrefix", value: "/" } }];
const timeouts = struct(
  "How long requests may take.",
  { request: duration("For the whole request."), backendRequest: duration("For one request to a backend.") },
  {
    rules: [
      [
        "!(has(self.request) && has(self.backendRequest) && duration(self.request) != duration('0s') && duration(self.backendRequest) > duration(self.request))",
        "backendRequest timeout cannot be longer than request timeout",
      ],
    ],
  },
);

export const httpRouteSpec = struct("Which requests go where.", {
  ...routeFields,
  rules: list(
    "Requests and what happens to them.",
    struct(
      "Some requests and what happens to them.",
      {
        name: sectionName("Name of the rule, unique in its route."),
        matches: list("Requests that the rule is for. One must match.", httpMatch, 64, { default: everyPath }),
        filters: httpFilters,
        backendRefs: backendRefs("requests", httpFilters),
        timeouts,
      },
      { rules: ruleRules },
    ),
    16,
    {
      ...{ minItems: 1, default: [{ matches: everyPath }] },
      ...withRules([fewMatches((at) => `self[${at}].matches.size()`)]),
    },
  ),
});

const grpcMethod = struct(
  "The method that is called.",
  {
    type: choice("How the names are compared.", ["Exact", "RegularExpression"], { default: "Exact" }),
    service: text("Name of the service, such as shop.v1.Orders.", { maxLength: 1024 }),
    method: text("Name of the method.", { maxLength: 1024 }),
  },
  {
    rules: [
      [
        "has(self.type) ? has(self.service) || has(self.method) : true",
        "One or both of 'service' or 'method' must be specified",
      ],
    ],
  },
);

export const grpcRouteSpec = struct("Which calls go where.", {
  ...routeFields,
  rules: list(
    "Calls and what happens to them.",
    struct("Some calls and what happens to them.", {
      name: sectionName("Name of the rule, unique in its route."),
      matches: list(
        "Calls that the rule is for. One must match.",
        struct("Calls that the rule is for. All parts must match.", {
          method: grpcMethod,
          headers: valueMatches("Headers of the calls.", 4096),
        }),
        64,
      ),
      filters: grpcFilters,
      backendRefs: backendRefs("requests", grpcFilters),
    }),
    16,
    withRules([fewMatches((at) => `(has(self[${at}].matches) ? self[${at}].matches.size() : 0)`)]),
  ),
});

export const tlsRouteSpec = struct(
  "Which connections go where.",
  {
    ...connectionFields,
    rules: list(
      "What happens to the connections.",
      struct(
        "Where the connections go.",
        { name: sectionName("Name of the rule."), backendRefs: backendRefs("connections") },
        { required: ["backendRefs"] },
      ),
      1,
      { minItems: 1 },
    ),
  },
  { required: ["hostnames", "rules"] },
);
