import { type ApiRequest, type UserInfo } from "#server/request/pipeline.ts";

/** One way to identify the caller. The chain takes the first identity; without one the caller is anonymous. */
export interface Authenticator {
  readonly name: string;
  /** undefined: the request has no credential for this authenticator. A bad credential throws `unauthorized()`. */
  authenticate(request: ApiRequest): UserInfo | undefined | Promise<UserInfo | undefined>;
}
