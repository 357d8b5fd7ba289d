import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { type Context } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";

export const request = (part: Partial<ApiRequest> = {}): ApiRequest => ({
  method: "GET",
  path: "/api/v1/pods",
  query: "",
  headers: {},
  body: undefined,
  signal: new AbortController().signal,
  peer: { address: "127.0.0.1" },
  ...part,
});

export const contextOf = (part: Partial<ApiRequest>, user: UserInfo = { name: "", groups: [] }): Context => ({
  request: request(part),
  info: { ...blankRequestInfo, verb: "get", path: "/" },
  query: new URLSearchParams(),
  trace: { traceId: "", spanId: "" },
  user,
  warnings: [],
  annotations: new Map(),
  steps: { mark() {} },
});

export const done = { type: "value", status: 200, value: {} } as const;
