import { TypeMetaFields } from "#api/meta/object-meta.ts";
import { optional, present } from "#schema/fields.ts";
import { inPackage, object as named } from "#schema/schema.ts";
import { any, atomicList, boolean, list, string } from "#schema/types.ts";

const object = inPackage("meta/v1");

const GroupVersionForDiscovery = object("GroupVersionForDiscovery", "A version of a group.", {
  groupVersion: present(1, string(), "Group and version, as in apps/v1."),
  version: present(2, string(), "The version alone."),
});
const ServerAddressByClientCIDR = object("ServerAddressByClientCIDR", "The address of the server for some clients.", {
  clientCIDR: present(1, string(), "The addresses of the clients."),
  serverAddress: present(2, string(), "Address of the server: a host name, an IP, or either with a port."),
});

/** The answer of `/api`. */
export const APIVersions = object("APIVersions", "The versions of the core API.", {
  ...TypeMetaFields,
  versions: present(1, atomicList(string()), "The versions."),
  serverAddressByClientCIDRs: present(2, atomicList(ServerAddressByClientCIDR), "Addresses of the server."),
});

/** The answer of `/apis/GROUP`. */
export const APIGroup = object("APIGroup", "A group, its versions, and the preferred one.", {
  ...TypeMetaFields,
  name: present(1, string(), "Name of the group."),
  versions: present(2, atomicList(GroupVersionForDiscovery), "The versions."),
  preferredVersion: optional(3, GroupVersionForDiscovery, "The version that clients should use."),
  serverAddressByClientCIDRs: optional(4, atomicList(ServerAddressByClientCIDR), "Addresses of the server."),
});

/** The answer of `/apis`. */
export const APIGroupList = object("APIGroupList", "The groups.", {
  ...TypeMetaFields,
  groups: present(1, atomicList(APIGroup), "The groups."),
});

const APIResource = object("APIResource", "A resource, and what can be done with it.", {
  name: present(1, string(), "Plural name, as in paths."),
  singularName: present(6, string(), "Singular name."),
  namespaced: present(2, boolean(), "Whether its objects are in a namespace."),
  group: optional(8, string(), "Group of its kind, if it is not that of the list."),
  version: optional(9, string(), "Version of its kind, if it is not that of the list."),
  kind: present(3, string(), "The kind of its objects."),
  verbs: present(4, list(string()), "What can be done with it, as in list and create."),
  shortNames: optional(5, atomicList(string()), "Short names for the command line."),
  categories: optional(7, atomicList(string()), "Sets of resources that it belongs to, such as all."),
  storageVersionHash: optional(10, string(), "Changes with the version in which its objects are stored."),
});

/** The answer of `/apis/GROUP/VERSION`. */
export const APIResourceList = object("APIResourceList", "The resources of a version of a group.", {
  ...TypeMetaFields,
  groupVersion: present(1, string(), "Group and version, as in apps/v1."),
  resources: present(2, atomicList(APIResource), "The resources."),
});

/** One line of the answer to a watch. */
export const WatchEvent = object("WatchEvent", "A change of an object that is watched.", {
  type: present(1, string(), "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."),
  object: present(
    2,
    any({ name: "runtime.RawExtension" }),
    "The object after the change, or before its deletion; a Status for an error.",
  ),
});

/** The answer of `/version`. */
export const VersionInfo = named("version.Info", "The version of the server.", {
  major: present(1, string(), "Major version."),
  minor: present(2, string(), "Minor version."),
  emulationMajor: optional(3, string(), "Major version that the server behaves like."),
  emulationMinor: optional(4, string(), "Minor version that the server behaves like."),
  minCompatibilityMajor: optional(5, string(), "Oldest major version that the server is compatible with."),
  minCompatibilityMinor: optional(6, string(), "Oldest minor version that the server is compatible with."),
  gitVersion: present(7, string(), "The whole version, as in v1.36.4."),
  gitCommit: present(8, string(), "Commit that the server was built from."),
  gitTreeState: present(9, string(), "Whether there were changes besides the commit."),
  buildDate: present(10, string(), "When the server was built."),
  goVersion: present(11, string(), "Version of the runtime."),
  compiler: present(12, string(), "Compiler of the server."),
  platform: present(13, string(), "Operating system and architecture."),
});
