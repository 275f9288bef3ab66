import type { KubeObject } from '../../api/meta.ts';
import { NODE_MAINTENANCE_GROUP } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import type { MaintenanceChange } from '../../decide/maintenance/new-maintenance.ts';
import { NodemaintError } from '../../errors.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../client.ts';
import { missingName, notInstalled, refusal } from '../refusal.ts';
import { type AskPage, readPages } from '../list.ts';
import { collectionPath, NODE_MAINTENANCES, NODES, objectPath, onNode, PODS, type Resource } from '../resource.ts';
import { statusMessage, answeredStatus } from '../request.ts';

/**
 * Reads and changes maintenances for a person. Every function throws API_REFUSED with the server's own words and the
 * permission that is missing, or what to install, and API_UNREACHABLE if no server answers.
 */
export interface MaintenanceClient {
  nodes(signal: AbortSignal): Promise<readonly Node[]>;
  maintenances(signal: AbortSignal): Promise<readonly NodeMaintenance[]>;
  /** The node of the name, if there is one. */
  findNode(name: string, signal: AbortSignal): Promise<Node | undefined>;
  /** The pods that are bound to the node of the name. */
  podsOn(node: string, signal: AbortSignal): Promise<readonly Pod[]>;
  /** Creates the maintenance; undefined if there is one of the name already. */
  create(maintenance: NodeMaintenance, dryRun: boolean, signal: AbortSignal): Promise<NodeMaintenance | undefined>;
  /** Changes fields of the spec and annotations of the maintenance with this UID; undefined if there is none any more. */
  change(
    known: NodeMaintenance,
    change: MaintenanceChange,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<NodeMaintenance | undefined>;
  /** Deletes the maintenance with this UID; returns whether there was one. */
  remove(known: NodeMaintenance, dryRun: boolean, signal: AbortSignal): Promise<boolean>;
  /** All objects of a collection, such as all budgets; none where the server does not have the resource. */
  list<T extends KubeObject>(resource: Resource, query: string, signal: AbortSignal): Promise<readonly T[]>;
  /** One object; undefined where it, or its resource, is not there. */
  find<T extends KubeObject>(
    resource: Resource,
    meta: KubeObject['metadata'],
    signal: AbortSignal,
  ): Promise<T | undefined>;
}

/** Why the server refused a request; for a conflict, or an object that is not valid, in the server's words only. */
function refusalOf(response: KubeResponse): NodemaintError {
  const ownWords = response.status === 409 || response.status === 422;
  return ownWords ? new NodemaintError('API_REFUSED', statusMessage(response)) : refusal(response);
}

/** The texts of the Warning headers of an answer (RFC 7234, 5.5). */
function warningsOf({ headers }: KubeResponse): readonly string[] {
  const header = [headers['warning'] ?? ''].flat().join(', ');
  return [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
}

/** Sends a request; returns undefined for the statuses in `absent`, and throws as MaintenanceClient does. */
type Send = <T>(request: KubeRequest, absent: readonly number[], signal: AbortSignal) => Promise<T | undefined>;

/** `warn` is called with each warning of the server. */
function createSend(client: KubeClient, warn: (text: string) => void): Send {
  return async <T>(request: KubeRequest, absent: readonly number[], signal: AbortSignal): Promise<T | undefined> => {
    const response = await client.send(request, signal);
    for (const warning of warningsOf(response)) warn(warning);
    if (response.status >= 200 && response.status < 300) return response.body as T;
    const isOurs = request.path.startsWith(NODE_MAINTENANCES.root);
    if (response.status === 404 && isOurs && missingName(response) === undefined) {
      throw notInstalled(NODE_MAINTENANCES, NODE_MAINTENANCE_GROUP);
    }
    if (absent.includes(answeredStatus(response))) return undefined;
    throw refusalOf(response);
  };
}

/**
 * The query of a write, which the server only checks in a dry run. It refuses a field that it does not know: without the field a
 * drain would take more pods than it is told to.
 */
function writeQuery(dryRun: boolean): string {
  return `?fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
}

/** Creates a client for a person; `warn` is called with each warning of the server. */
export function createMaintenanceClient(client: KubeClient, warn: (text: string) => void): MaintenanceClient {
  const send = createSend(client, warn);

  const find = async <T extends KubeObject>(
    resource: Resource,
    meta: KubeObject['metadata'],
    signal: AbortSignal,
  ): Promise<T | undefined> => send<T>({ method: 'GET', path: objectPath(resource, meta) }, [404], signal);

  const list = async <T extends KubeObject>(
    resource: Resource,
    query: string,
    signal: AbortSignal,
  ): Promise<readonly T[]> => {
    const ask: AskPage<T> = (page, namesOnly) => {
      const search = new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(query)), ...page }).toString();
      return send({ method: 'GET', path: `${collectionPath(resource)}?${search}`, namesOnly }, [404], signal);
    };
    return (await readPages(ask, (object) => object)).items;
  };

  return {
    find,
    list,
    nodes: (signal) => list<Node>(NODES, '', signal),
    maintenances: (signal) => list<NodeMaintenance>(NODE_MAINTENANCES, '', signal),
    podsOn: (node, signal) => list<Pod>(PODS, `fieldSelector=${encodeURIComponent(onNode(node))}`, signal),
    findNode: (name, signal) => find<Node>(NODES, { name }, signal),
    create: async (body, dryRun, signal) => {
      const path = collectionPath(NODE_MAINTENANCES) + writeQuery(dryRun);
      return await send<NodeMaintenance>({ method: 'POST', path, body }, [409], signal);
    },
    change: async ({ metadata: { name, uid } }, { spec, annotations }, dryRun, signal) => {
      const path = objectPath(NODE_MAINTENANCES, { name }) + writeQuery(dryRun);
      // The UID makes the write fail if the maintenance was replaced since it was read.
      const body = { metadata: { uid, annotations }, spec };
      return await send<NodeMaintenance>({ method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404, 409], signal);
    },
    remove: async ({ metadata: { name, uid } }, dryRun, signal) => {
      const path = objectPath(NODE_MAINTENANCES, { name });
      // If a DELETE has a body, the server ignores the query.
      const options = { preconditions: { uid }, ...(dryRun ? { dryRun: ['All'] } : {}) };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...options };
      return (await send({ method: 'DELETE', path, body }, [404, 409], signal)) !== undefined;
    },
  };
}
