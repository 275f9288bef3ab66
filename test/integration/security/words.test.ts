/**
 * Who may write which label and annotation of ours on a maintenance: every one that src/api/names.ts has, by every kind of
 * identity, where it is made, changed and taken away. A new one is walked too, and is a person's unless it is listed here.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import * as names from '../../../src/api/names.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath, statusMessage } from '../../../src/kube/resource.ts';
import { byName, maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import { madeOwn } from '../../support/maintenance/node-writes.ts';
import { type AdmissionRig, buildAdmissionRig, type Rule, send } from '../../support/rigs/admission.ts';
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

describe('a label or annotation of a maintenance', () => {
  let rig: AdmissionRig;
  let clients: Readonly<Record<Identity, KubeClient>>;
  /** The maintenance of the shutdown of n1, with all that its machine says. */
  let shutdown: string;

  before(async () => {
    rig = await buildAdmissionRig();
    const asNode = (name: string): Promise<KubeClient> => rig.user(`system:node:${name}`, [], ['system:nodes']);
    clients = {
      admin: rig.admin,
      operator: await rig.user('operator', OPERATOR),
      viewer: await rig.user('viewer', VIEWER),
      n1: await asNode('n1'),
      n2: await asNode('n2'),
      controller: rig.controller,
      anybody: await rig.user('anybody', []),
    };
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
  after(() => rig?.[Symbol.asyncDispose]());

  const isDone = ({ status }: KubeResponse): boolean => status >= 200 && status < 300;

  /** Whether the answer has the value: admission writes some in the place of what was sent. */
  function isWritten(answer: KubeResponse, { form, key }: Word, value: string | undefined): boolean {
    if (!isDone(answer)) return false;
    const { metadata } = answer.body as NodeMaintenance;
    return metadata[form]?.[key] === value;
  }

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

  async function write(identity: Identity, { form, key }: Word, value: string | null): Promise<KubeResponse> {
    const path = `${objectPath(NODE_MAINTENANCES, { name: shutdown })}?dryRun=All`;
    const body = { metadata: { [form]: { [key]: value } } };
    return await send(clients[identity], { method: 'PATCH', path, body, patch: { kind: 'merge' } });
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
