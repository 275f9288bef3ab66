/**
 * Who may write which label and annotation of ours: every one that src/api/names.ts has, by every kind of identity, where it is
 * made, changed and taken away. A new one is walked too: on a maintenance it is a person's unless it is listed here.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KubeObject } from '../../../src/api/meta.ts';
import * as names from '../../../src/api/names.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
} from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import { byName, maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import { madeOwn } from '../../support/maintenance/node-writes.ts';
import { type AdmissionRig, buildAdmissionRig, createRequest, type Rule, send } from '../../support/rigs/admission.ts';
import { waitFor } from '../../support/wait-for.ts';

const KEYS = Object.values<unknown>(names)
  .filter((value) => typeof value === 'string')
  .filter((value) => value.startsWith(names.OWN_LABEL_PREFIX) && value !== names.OWN_LABEL_PREFIX)
  .filter((value) => value !== names.NODE_MAINTENANCE_API_VERSION);
const WORDS = KEYS.flatMap((key) => (['labels', 'annotations'] as const).map((form) => ({ form, key })));
type Word = (typeof WORDS)[number];

/** What a machine says of itself: only its node writes it. */
const MACHINES: ReadonlySet<string> = new Set([
  `labels ${names.AGENT_LABEL}`,
  `annotations ${names.BOOT_ANNOTATION}`,
  `annotations ${names.SHUTDOWN_KIND_ANNOTATION}`,
]);
/** What else the node writes, and people too. */
const DEADLINES: ReadonlySet<string> = new Set([
  `annotations ${names.DEADLINE_ANNOTATION}`,
  `annotations ${names.DEADLINE_SINCE_ANNOTATION}`,
]);
/** What nobody writes under the name of another. */
const SIGNED: ReadonlySet<string> = new Set([
  `annotations ${names.REQUESTED_BY_ANNOTATION}`,
  `annotations ${names.RELEASE_ANNOTATION}`,
]);

const IDENTITIES = ['admin', 'operator', 'viewer', 'n1', 'n2', 'controller', 'anybody'] as const;
type Identity = (typeof IDENTITIES)[number];
const CHANGES = ['make', 'change', 'take away'] as const;

/** Whether the identity may write the word into a maintenance: for n1 and n2, into one of the machine n1. */
function mayWrite(identity: Identity, change: (typeof CHANGES)[number], { form, key }: Word): boolean {
  const word = `${form} ${key}`;
  if (identity === 'n1') {
    if (form === 'labels') return MACHINES.has(word) && change === 'make';
    return MACHINES.has(word) || DEADLINES.has(word);
  }
  // An administrator with all rights has the verb `coordinate` too.
  if (identity === 'admin') return !SIGNED.has(word);
  return identity === 'operator' && !MACHINES.has(word) && !SIGNED.has(word);
}

const OPERATOR: readonly Rule[] = [
  {
    apiGroups: ['nodemaintenance.x-k8s.io'],
    resources: ['nodemaintenances'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'drain'] },
];
const VIEWER: readonly Rule[] = [
  { apiGroups: ['nodemaintenance.x-k8s.io'], resources: ['nodemaintenances'], verbs: ['get', 'list', 'watch'] },
];

/** A value that the word may have; a second one that differs. */
function valueOf({ form, key }: Word, which: 'first' | 'second'): string {
  if (key === names.SHUTDOWN_KIND_ANNOTATION && form === 'annotations') return which === 'first' ? 'reboot' : 'halt';
  if (key === names.AGENT_LABEL && form === 'labels') return which === 'first' ? 'n1' : 'n2';
  return which === 'first' ? 'one' : 'two';
}

const isDone = ({ status }: KubeResponse): boolean => status >= 200 && status < 300;

/** Whether the answer has the value: admission writes some in the place of what was sent, and a status may leave metadata alone. */
function isWritten(answer: KubeResponse, { form, key }: Word, value: string | undefined): boolean {
  if (!isDone(answer)) return false;
  const { metadata } = answer.body as KubeObject;
  return metadata[form]?.[key] === value;
}

async function clientsOf(rig: AdmissionRig): Promise<Readonly<Record<Identity, KubeClient>>> {
  const asNode = (name: string): Promise<KubeClient> => rig.user(`system:node:${name}`, [], ['system:nodes']);
  return {
    admin: rig.admin,
    operator: await rig.user('operator', OPERATOR),
    viewer: await rig.user('viewer', VIEWER),
    n1: await asNode('n1'),
    n2: await asNode('n2'),
    controller: rig.controller,
    anybody: await rig.user('anybody', []),
  };
}

/** Writes a word by a merge patch of what is at the path; nothing is changed. */
async function writeAt(client: KubeClient, path: string, { form, key }: Word, value: string | null) {
  const body = { metadata: { [form]: { [key]: value } } };
  return await send(client, { method: 'PATCH', path: `${path}?dryRun=All`, body, patch: { kind: 'merge' } });
}

let rig: AdmissionRig;
let clients: Readonly<Record<Identity, KubeClient>>;
before(async () => {
  rig = await buildAdmissionRig();
  clients = await clientsOf(rig);
});
after(() => rig?.[Symbol.asyncDispose]());

describe('a label or annotation of a maintenance', () => {
  /** The maintenance of the shutdown of n1, with all that its machine says. */
  let shutdown: string;

  before(async () => {
    const isFenced = async (): Promise<boolean> =>
      !isDone(await make('operator', { form: 'labels', key: names.AGENT_LABEL }));
    await waitFor('the policies are in force', isFenced);
    const annotations = Object.fromEntries(
      WORDS.filter(({ form }) => form === 'annotations')
        .filter((word) => mayWrite('n1', 'make', word))
        .map((word) => [word.key, valueOf(word, 'first')]),
    );
    shutdown = await madeOwn(clients.n1, 'n1', { annotations });
  });

  async function make(identity: Identity, word: Word): Promise<KubeResponse> {
    const said = { [word.form]: { [word.key]: valueOf(word, 'first') } };
    const isNode = identity === 'n1' || identity === 'n2';
    const labels = { [names.AGENT_LABEL]: 'n1', ...(word.form === 'labels' ? said['labels'] : {}) };
    const body = isNode
      ? ownMaintenanceOf('n1', { ...said, name: 'shutdown-n1-y', labels })
      : maintenanceOf({ stage: 'Drain', nodeSelector: byName('n1') }, { ...said, name: 'walked' });
    const path = `${collectionPath(NODE_MAINTENANCES)}?dryRun=All`;
    return await send(clients[identity], { method: 'POST', path, body });
  }

  async function write(identity: Identity, word: Word, value: string | null): Promise<KubeResponse> {
    return await writeAt(clients[identity], objectPath(NODE_MAINTENANCES, { name: shutdown }), word, value);
  }

  for (const identity of IDENTITIES) {
    it(`is written by ${identity} only where it is theirs`, async () => {
      const wrong: string[] = [];
      for (const change of CHANGES) {
        for (const word of WORDS) {
          // What is not there cannot be taken away.
          if (change === 'take away' && !mayWrite('n1', 'make', word)) continue;
          const value = change === 'take away' ? undefined : valueOf(word, change === 'make' ? 'first' : 'second');
          const answer = change === 'make' ? await make(identity, word) : await write(identity, word, value ?? null);
          if (isWritten(answer, word, value) === mayWrite(identity, change, word)) continue;
          wrong.push(`${change} ${word.form} ${word.key}: ${answer.status} ${statusMessage(answer)}`);
        }
      }
      assert.deepEqual(wrong, []);
    });
  }

  it('goes with its maintenance, which only its node and people who may drain delete', async () => {
    const may = await Promise.all(
      IDENTITIES.map(async (identity) => {
        const path = `${objectPath(NODE_MAINTENANCES, { name: shutdown })}?dryRun=All`;
        return isDone(await send(clients[identity], { method: 'DELETE', path })) ? identity : undefined;
      }),
    );
    const found = may.filter((each) => each !== undefined);
    assert.deepEqual(found, ['admin', 'operator', 'n1']);
  });
});

/** Other objects that have words of ours, by what is written: each of them belongs to the node n1. */
const PLACES = ['node', 'node status', 'pod', 'pod status', 'request', 'request status'] as const;
type Place = (typeof PLACES)[number];

/** Those with rights there, and two without; others have fewer. */
const WALKERS = IDENTITIES.filter((each) => each !== 'viewer' && each !== 'anybody');

/** The words that the controller writes; what it takes away of a pod it does not set. */
const BY_CONTROLLER: Readonly<Record<Place, (word: string, change: (typeof CHANGES)[number]) => boolean>> = {
  node: (word) =>
    [names.CORDONED_ANNOTATION, names.NODE_NOTE_ANNOTATION].some((each) => word === `annotations ${each}`),
  'node status': (word) => word === `annotations ${names.NODE_NOTE_ANNOTATION}`,
  pod: (word, change) => word === `labels ${names.HELD_FOR_LABEL}` && change === 'take away',
  'pod status': () => false,
  request: () => true,
  'request status': () => false,
};

/** Whether the identity may write the word there: a node what is its own alone, and people who drain nothing of it. */
function mayWriteAt(place: Place, identity: Identity, change: (typeof CHANGES)[number], { form, key }: Word): boolean {
  if (identity === 'controller') return BY_CONTROLLER[place](`${form} ${key}`, change);
  if (identity === 'admin') return place !== 'request status';
  if (identity !== 'n1') return false;
  return place === 'node' || place === 'node status' || (place === 'pod status' && form === 'annotations');
}

describe('a label or annotation of ours elsewhere', () => {
  let paths: Readonly<Record<Place, string>>;
  before(async () => {
    const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'none.invalid/none' }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'walked', namespace: 'default' }, spec };
    for (const body of [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }, pod]) {
      const path = body.kind === 'Node' ? collectionPath(NODES) : collectionPath(PODS, 'default');
      const answer = await send(rig.admin, { method: 'POST', path, body });
      assert.ok(isDone(answer), statusMessage(answer));
    }
    const request = { name: await createRequest(rig), namespace: 'default' };
    paths = {
      node: objectPath(NODES, { name: 'n1' }),
      'node status': objectPath(NODES, { name: 'n1' }, 'status'),
      pod: objectPath(PODS, pod.metadata),
      'pod status': objectPath(PODS, pod.metadata, 'status'),
      request: objectPath(EVICTION_REQUESTS, request),
      'request status': objectPath(EVICTION_REQUESTS, request, 'status'),
    };
  });

  /** Gives all objects all words, so that each can be changed and taken away. */
  async function fill(): Promise<void> {
    const all = (form: Word['form']): object =>
      Object.fromEntries(WORDS.filter((word) => word.form === form).map((word) => [word.key, valueOf(word, 'first')]));
    const body = { metadata: { labels: all('labels'), annotations: all('annotations') } };
    for (const place of ['node', 'pod', 'request'] as const) {
      const answer = await send(rig.admin, { method: 'PATCH', path: paths[place], body, patch: { kind: 'merge' } });
      assert.ok(isDone(answer), statusMessage(answer));
    }
  }

  for (const change of CHANGES) {
    it(`on Nodes, pods and EvictionRequests, nobody can ${change} one but whose it is`, async () => {
      if (change === 'change') await fill();
      const wrong: string[] = [];
      for (const place of PLACES) {
        for (const identity of WALKERS) {
          const walk = async (word: Word): Promise<void> => {
            const value = change === 'take away' ? undefined : valueOf(word, change === 'make' ? 'first' : 'second');
            const answer = await writeAt(clients[identity], paths[place], word, value ?? null);
            if (isWritten(answer, word, value) === mayWriteAt(place, identity, change, word)) return;
            wrong.push(`${identity} ${place} ${word.form} ${word.key}: ${answer.status} ${statusMessage(answer)}`);
          };
          await Promise.all(WORDS.map(walk));
        }
      }
      assert.deepEqual(wrong, []);
    });
  }
});
