import { type UserInfo } from "#api/exchange.ts";
import { serviceAccountGroups, serviceAccountName } from "#server/authenticate/service-account-claims.ts";

/**
 * Who the components are: upstream's users, with the rights that upstream's bootstrap roles give them. Nobody here is a
 * member of system:masters.
 */
const systemUser = (name: string, ...groups: string[]): UserInfo => ({
  name,
  groups: [...groups, "system:authenticated"],
});

/** One of the service accounts in kube-system: `deployment-controller`. */
const systemAccount = (account: string): UserInfo =>
  systemUser(serviceAccountName("kube-system", account), ...serviceAccountGroups("kube-system"));

/** Each controller acts as its own account. */
export const controllerUser = systemAccount;
/** What the controllers share: their informers, where those are not the server's own caches. */
export const controllerManagerUser = systemUser("system:kube-controller-manager");
export const schedulerUser = systemUser("system:kube-scheduler");
/** Announces where cluster DNS is. */
export const dnsUser = systemAccount("kube-dns");
/** The kubelet of a node. */
export const nodeUser = (name: string): UserInfo => systemUser(`system:node:${name}`, "system:nodes");
