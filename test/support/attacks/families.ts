/** Registers families of attacks as tests. */
import { before, describe, it } from 'node:test';
import { waitFor } from '../wait-for.ts';
import type { Family } from './attack.ts';

/** Rights are aggregated, and policies come into force, some seconds after they are installed. */
export async function untilInForce<S, A>({ control, attacks }: Family<S, A>, scene: S): Promise<void> {
  const works = async (): Promise<boolean> => {
    await control.attempt(scene);
    await attacks[0]?.attempt(scene);
    return true;
  };
  const ask = (): Promise<boolean> => works().catch(() => false);
  // A failure here shows in the control and in the attack themselves.
  await waitFor(control.name, ask, { timeoutMs: 10_000 }).catch(() => undefined);
}

/** Adds a block for each family: first `prepare`, then its control, then its attacks. `sceneOf` is called when these run. */
export function addFamilies<S, A extends string>(
  families: readonly Family<S, A>[],
  attackers: Readonly<Record<A, string>>,
  sceneOf: () => S,
  prepare: (family: Family<S, A>) => Promise<void>,
): void {
  for (const family of families) {
    const { attacker, title, control, attacks } = family;
    describe(`${attackers[attacker]}: ${title}`, () => {
      before(() => prepare(family));
      it(`control: ${control.name}`, async () => {
        await control.attempt(sceneOf());
      });
      for (const attack of attacks) {
        it(`${attack.name} (${attack.refusedBy})`, async () => {
          await attack.attempt(sceneOf());
        });
      }
    });
  }
}
