import type { Answer, ApiRequest, WatchSink } from "#api/exchange.ts";
import { StatusError } from "#api/status.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Random } from "#lib/data/random.ts";
import { parseRequestInfo } from "#server/request/request-info.ts";
import type { Interceptor } from "#server/server.ts";

/** Which requests go wrong, and how. A request must match every field that is set. */
export interface FaultRule {
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`. */
  readonly verb?: string;
  /** The plural: `deployments`. */
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** The caller's user name; only callers in this process are known by it. */
  readonly user?: string;
  /** The answer's HTTP status: 409, 429, 500… Without it, the request is only slow or stale. */
  readonly status?: number;
  readonly message?: string;
  /** How long the answer takes. */
  readonly delayMs?: number;
  /** Lists show the state at the time when the rule was added. */
  readonly stale?: boolean;
  /** How many requests it affects; all by default. */
  readonly times?: number;
  /** Which part of the matching requests it affects, from 0 to 1; all by default. */
  readonly share?: number;
}

interface Rule extends FaultRule {
  left: number;
  isUsed: boolean;
  readonly revision: number;
}

const reasons = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
} as const;

export interface FaultDeps {
  readonly clock: Clock;
  readonly random: Random;
  revision(): number;
}

/** Makes requests to the API server fail, wait or see old state. */
export class ApiFaults implements Interceptor {
  readonly #deps: FaultDeps;
  readonly #rules = new Set<Rule>();
  readonly #watches = new Set<WatchSink>();
  /** How many requests the rules have affected. */
  count = 0;
  #hopeMs: number | undefined;

  constructor(deps: FaultDeps) {
    this.#deps = deps;
  }

  /** The returned function takes the rule back. */
  add(rule: FaultRule): () => void {
    checkRule(rule);
    const left = rule.times ?? Number.POSITIVE_INFINITY;
    const own: Rule = { ...rule, left, isUsed: false, revision: this.#deps.revision() };
    this.#rules.add(own);
    return () => this.#takeBack(own);
  }

  /** Takes all rules back. */
  clear(): void {
    for (const rule of this.#rules) this.#takeBack(rule);
  }

  /** Requests that failed at this time or before may succeed when they are tried again; undefined if none has. */
  get hopeMs(): number | undefined {
    return this.#hopeMs;
  }

  /** Ends all watches, as a server that restarts does. */
  cutWatches(): void {
    for (const sink of [...this.#watches]) sink.end();
    this.#watches.clear();
  }

  /** Called by the server with every request. */
  request(request: ApiRequest): ApiRequest | Promise<ApiRequest> {
    // The server's own calls keep it running.
    if (this.#rules.size === 0 || request.peer.user?.name === "system:apiserver") return request;
    const rule = this.#ruleFor(request);
    return rule ? this.#apply(rule, request) : request;
  }

  /** Called by the server with every answer. */
  answer(answer: Answer): Answer {
    if (answer.type !== "watch") return answer;
    const start = (sink: WatchSink): (() => void) => {
      this.#watches.add(sink);
      const stop = answer.start(sink);
      return () => {
        this.#watches.delete(sink);
        stop();
      };
    };
    return { ...answer, start };
  }

  #takeBack(rule: Rule): void {
    if (this.#rules.delete(rule) && rule.isUsed) this.#hopeMs = this.#deps.clock.now();
  }

  #ruleFor(request: ApiRequest): Rule | undefined {
    const info = parseRequestInfo(request.method, request.path, new URLSearchParams(request.query));
    const user = request.peer.user?.name;
    for (const rule of this.#rules) {
      const { verb = info.verb, resource = info.resource, subresource = info.subresource } = rule;
      const { namespace = info.namespace, name = info.name, share = 1 } = rule;
      const isIt = verb === info.verb && resource === info.resource && subresource === info.subresource;
      const isThere = namespace === info.namespace && name === info.name && (rule.user ?? user) === user;
      if (!isIt || !isThere || rule.left <= 0 || (share < 1 && this.#deps.random() >= share)) continue;
      rule.left--;
      rule.isUsed = true;
      this.count++;
      // A rule that always applies makes a retry fail as well.
      if (share < 1 || rule.times !== undefined) this.#hopeMs = this.#deps.clock.now();
      return rule;
    }
    return undefined;
  }

  async #apply(rule: Rule, request: ApiRequest): Promise<ApiRequest> {
    if (rule.delayMs) await this.#deps.clock.sleep(rule.delayMs, request.signal);
    if (rule.status !== undefined) throw faultOf(rule.status, rule.message);
    if (!rule.stale) return request;
    const query = new URLSearchParams(request.query);
    query.set("resourceVersion", String(rule.revision));
    query.set("resourceVersionMatch", "Exact");
    return { ...request, query: query.toString() };
  }
}

function faultOf(code: number, message = `the test lets this request fail with ${code}`): StatusError {
  const reason = (reasons as Readonly<Record<number, (typeof reasons)[keyof typeof reasons]>>)[code] ?? "";
  return new StatusError(reason, message, code === 429 ? { retryAfterSeconds: 1 } : undefined, { code });
}

function checkRule({ status, delayMs, stale, times, share, verb }: FaultRule): void {
  const isCode = status === undefined || (Number.isInteger(status) && status >= 400 && status <= 599);
  if (!isCode) throw new TypeError(`status must be an HTTP status from 400 to 599, not ${status}`);
  if (status === undefined && !delayMs && !stale) throw new TypeError("a fault needs a status, delayMs or stale");
  if (stale && verb !== "list") throw new TypeError('only lists can be stale: set verb to "list"');
  if (times !== undefined && !(times >= 1)) throw new TypeError(`times must be at least 1, not ${times}`);
  if (share !== undefined && !(share > 0 && share <= 1)) throw new TypeError(`share must be above 0 and at most 1`);
}
