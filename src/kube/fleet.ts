import type { KubeObject } from '../api/meta.ts';
import type { ListedNode } from '../api/pod.ts';
import type { KubeClient } from './client.ts';
import { type AskPage, MAX_LIMIT, type ObjectPage, readPages } from './list.ts';
import { refusal } from './refusal.ts';
import { collectionPath, NODES } from './resource.ts';

/** The part of a meta.k8s.io/v1 Table that is read. */
interface NodeTable extends Pick<ObjectPage<never>, 'metadata'> {
  readonly columnDefinitions?: readonly { readonly name: string }[];
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object?: KubeObject }[];
}

const MAX_STATUS = 100;

/** The nodes of a table; a row without a name is left out. */
function nodesOfTable({ columnDefinitions = [], rows = [] }: NodeTable): readonly ListedNode[] {
  const column = columnDefinitions.findIndex(({ name }) => name === 'Status');
  return rows.flatMap(({ cells, object }) => {
    if (object === undefined) return [];
    const { name, annotations = {}, labels = {} } = object.metadata;
    const cell = cells[column];
    const nodeStatus = typeof cell === 'string' ? cell.slice(0, MAX_STATUS) : 'Unknown';
    return [{ metadata: { name, annotations, labels }, nodeStatus }];
  });
}

/**
 * All nodes that the label selector matches, '' for all: of each its metadata and the words in which the API server prints
 * its state. Images, capacity and conditions, which are most of a Node, are not read. Throws API_REFUSED and
 * API_UNREACHABLE.
 */
export async function listFleet(
  client: KubeClient,
  labelSelector: string,
  signal: AbortSignal,
): Promise<readonly ListedNode[]> {
  const ask: AskPage<ListedNode> = async (page, namesOnly) => {
    const query = { ...page, ...(labelSelector === '' ? {} : { labelSelector }) };
    const path = `${collectionPath(NODES)}?${new URLSearchParams(query).toString()}`;
    const response = await client.send(
      { method: 'GET', path, ...(namesOnly ? { namesOnly } : { answer: 'table' }) },
      signal,
    );
    if (response.status !== 200) throw refusal(response);
    if (namesOnly) return response.body as ObjectPage<ListedNode>;
    const table = response.body as NodeTable;
    return { ...(table.metadata === undefined ? {} : { metadata: table.metadata }), items: nodesOfTable(table) };
  };
  // A row has a few kilobytes, whatever its Node has: the pages are large from the first one on.
  return (await readPages(ask, (node) => node, MAX_LIMIT)).items;
}
