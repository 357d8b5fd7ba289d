import { type RequestInfo, type UserInfo } from "#server/request/pipeline.ts";

/** One opinion about a request. The chain takes the first that has one. */
export interface Authorizer {
  readonly name: string;
  authorize(user: UserInfo, info: RequestInfo): Decision | Promise<Decision>;
}

export type Decision =
  | { readonly verdict: "allow"; readonly reason: string }
  | { readonly verdict: "deny"; readonly reason: string }
  | { readonly verdict: "no opinion"; readonly reason: string };

export const noOpinion: Decision = { verdict: "no opinion", reason: "" };
