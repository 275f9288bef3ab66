import assert from 'node:assert/strict';
import { sendForObject } from '../../../src/kube/resource.ts';
import type { Scene } from './scene.ts';

/** Makes an object under an identity; the call must be allowed. */
export async function make<T>(scene: Scene, actor: keyof Scene['clients'], path: string, body: object): Promise<T> {
  const made = await sendForObject<T>(
    scene.clients[actor],
    { method: 'POST', path, body },
    [],
    AbortSignal.timeout(9_000),
  );
  assert.ok(made !== undefined);
  return made;
}
