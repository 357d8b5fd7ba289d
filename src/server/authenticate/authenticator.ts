import { type ApiRequest, type UserInfo } from "#server/request/pipeline.ts";

/** One way of telling who asks. The chain takes the first identity; none at all is anonymous. */
export interface Authenticator {
  readonly name: string;
  /** undefined: the request has nothing for me. A bad credential throws `unauthorized()`. */
  authenticate(request: ApiRequest): UserInfo | undefined | Promise<UserInfo | undefined>;
}
