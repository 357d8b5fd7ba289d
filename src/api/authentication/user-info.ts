import { type Infer, list, map, object, optional, string } from "#schema/schema.ts";

export const UserInfo = object(
  "authentication/v1.UserInfo",
  {
    username: optional(1, string(), "The name that tells the user from all others."),
    uid: optional(2, string(), "Tells users apart who had the same name at different times."),
    groups: optional(3, list(string(), { list: "atomic" }), "The groups that the user is in."),
    extra: optional(4, map(list(string())), "What else the authenticator knew."),
  },
  { doc: "Who somebody is." },
);
export interface UserInfo extends Infer<typeof UserInfo> {}
