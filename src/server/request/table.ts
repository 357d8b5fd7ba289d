import { type ApiObject, type Column, type Resource, type RowCondition } from "#api/resource.ts";
import { isUnreadable } from "#api/unreadable.ts";

/** The table that `kubectl get` prints. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: MetaVersion;
  readonly metadata: object;
  readonly columnDefinitions: readonly object[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly conditions?: readonly RowCondition[];
    readonly object?: unknown;
  }[];
}

/** The version of tables and partial objects that the client asked for. */
export type MetaVersion = "meta.k8s.io/v1" | "meta.k8s.io/v1beta1";

export type IncludeObject = "None" | "Metadata" | "Object";

const nameColumn: Column<ApiObject> = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name, unique among its kind in its namespace.",
  value: ({ metadata }) => metadata.name,
};
const createdColumn: Column<ApiObject> = {
  name: "Created At",
  type: "date",
  description: "When the object was created.",
  value: ({ metadata }) => metadata.creationTimestamp,
};

interface RowOptions {
  readonly include: IncludeObject;
  readonly now: number;
  readonly apiVersion: MetaVersion;
}

export function renderTable(
  resource: Resource,
  objects: readonly ApiObject[],
  { metadata, ...options }: RowOptions & { readonly metadata: object },
): Table {
  return {
    kind: "Table",
    apiVersion: options.apiVersion,
    metadata,
    columnDefinitions: columnsOf(resource).map(({ name, type, format = "", description = "", priority = 0 }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
    rows: tableRows(resource, objects, options),
  };
}

export function tableRows(
  resource: Resource,
  objects: readonly ApiObject[],
  { include, now, apiVersion }: RowOptions,
): Table["rows"] {
  const columns = columnsOf(resource);
  return objects.map((object) => ({
    cells: cellsOf(columns, object, now),
    ...conditioned(isUnreadable(object) ? undefined : resource.rowConditions?.(object)),
    ...included(object, include, apiVersion),
  }));
}

/** A table starts with the name, unless its columns include it; one without columns has the age. */
function columnsOf(resource: Resource): readonly Column<ApiObject>[] {
  const { columns } = resource;
  if (columns.length === 0) return [nameColumn, createdColumn];
  return columns.some(({ name }) => name === "Name") ? columns : [nameColumn, ...columns];
}

/** Many columns may each show the whole object: without a limit, a table would be a hundred times as large as its objects. */
const rowRoom = { chars: 32 * 1024, values: 4000 };

function cellsOf(columns: readonly Column<ApiObject>[], object: ApiObject, now: number): unknown[] {
  if (isUnreadable(object))
    return columns.map((column) => (column.name === "Name" ? object.metadata.name : unknownCell(column)));
  const room = { ...rowRoom };
  return columns.map((column) => column.value(object, now, room) ?? null);
}

const unknownCell = ({ type }: Column<ApiObject>): string | null => (type === "string" ? "<unreadable>" : null);

const conditioned = (conditions: readonly RowCondition[] | undefined) => (conditions ? { conditions } : {});

function included(object: ApiObject, include: IncludeObject, apiVersion: MetaVersion): { object?: unknown } {
  if (include === "None") return {};
  return { object: include === "Object" ? object : partialMetadata(object, apiVersion) };
}

export const partialMetadata = ({ metadata }: ApiObject, apiVersion: MetaVersion) => ({
  kind: "PartialObjectMetadata",
  apiVersion,
  metadata,
});
