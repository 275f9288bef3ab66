import { createHash } from 'node:crypto';
import type { Mover } from '../../src/static-pods/mover.ts';
import type { MoverPaths } from '../../src/static-pods/places.ts';
import type { Moment } from '../support/disks/killing-disk.ts';

/** What the mover is to do: all files out, or all back. */
export interface CrashPlan {
  readonly paths: MoverPaths;
  readonly verb: 'park' | 'restore';
  readonly files: readonly string[];
}

/** A plan, and the change of the disk at which it ends. */
export interface CrashCase extends CrashPlan {
  /** With the quick disk; else with the machine's own. */
  readonly quick: boolean;
  /** Counted from 1. */
  readonly at: number;
  readonly moment: Moment;
}

/** The names of a plan of `count` manifests; among them the longest there can be and one with a line break. */
export function namesOf(count: number): readonly string[] {
  const odd = ['etcd.yaml', 'kube-apiserver.yaml', 'no extension', 'a\nb.json', 'x'.repeat(255), 'ä..~'];
  return Array.from({ length: count }, (_, index) => odd[index] ?? `m${index}.yaml`);
}

/** What a manifest holds: not the same for any two. */
export function contentOf(file: string): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n# ${createHash('sha256').update(file).digest('hex')}\n`;
}

/** Recovers, as every start does, and does what the plan says. */
export async function runPlan(mover: Mover, { verb, files }: CrashPlan): Promise<void> {
  await mover.recover();
  for (const file of files) {
    if (verb === 'park') await mover.park({ op: 'park', file, sha256: '', maintenance: 'm', at: 1, bootId: 'b' });
    else await mover.restore(file);
  }
}

/** Of what a manifest holds, in hexadecimal. */
export function sha256Of(file: string): string {
  return createHash('sha256').update(contentOf(file)).digest('hex');
}
