/** The objects of a state are those of the model of the API server, as values. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../../src/kube/client.ts';
import { createRandom } from '../../chaos/random.ts';
import { NO_OBJECTS, StateObjects } from '../../interleavings/objects.ts';
import { createModelServer } from '../../simulation/api-server/server.ts';
import { compareServers } from '../../simulation/contract/play.ts';

const NOW = (): number => Date.UTC(2026, 0, 1);
const NEVER = new AbortController().signal;

/** A server that keeps nothing between two requests but the objects of a state. */
function createStateServer(): KubeClient {
  let [objects, born] = [NO_OBJECTS, {}];
  return {
    send: (request) => {
      const work = new StateObjects(objects, born, NOW);
      work.expect(request);
      const response = createModelServer(NOW, { objects: work }).handle(request, 'test');
      ({ objects, born } = work.result());
      return Promise.resolve(response);
    },
    watch: () => {
      throw new Error('nothing is watched');
    },
    close: () => undefined,
  };
}

describe('the objects of a state', () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    it(`are after 200 calls of seed ${seed} what they are in the model`, async () => {
      const sequence = { random: createRandom(seed), length: 200 };
      assert.equal(await compareServers(createModelServer(NOW), createStateServer(), sequence, NEVER), undefined);
    });
  }

  it('have the same version and are one value again where a change is taken back', () => {
    const change = (before: typeof NO_OBJECTS, unschedulable: boolean | null): typeof NO_OBJECTS => {
      const work = new StateObjects(before, {}, NOW);
      const server = createModelServer(NOW, { objects: work });
      const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n0' } };
      server.handle({ method: 'POST', path: '/api/v1/nodes', body }, 'test');
      const patch = { kind: 'merge' } as const;
      server.handle({ method: 'PATCH', path: '/api/v1/nodes/n0', body: { spec: { unschedulable } }, patch }, 'test');
      return work.result().objects;
    };
    const made = change(NO_OBJECTS, null);
    const cordoned = change(made, true);
    assert.notEqual(cordoned.Node, made.Node);
    assert.equal(change(cordoned, null).Node, change(change(made, true), null).Node);
  });
});
