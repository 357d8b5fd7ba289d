import { type RequestInfo, type UserInfo } from "#server/request/pipeline.ts";

/** Decides about a request, or has no opinion. The chain takes the first decision. */
export interface Authorizer {
  readonly name: string;
  authorize(user: UserInfo, info: RequestInfo): Decision | Promise<Decision>;
}

export type Decision =
  | { readonly verdict: "allow"; readonly reason: string }
  | { readonly verdict: "deny"; readonly reason: string }
  | { readonly verdict: "no opinion"; readonly reason: string };

export const noOpinion: Decision = { verdict: "no opinion", reason: "" };
