/** The static pod directory of a simulated machine and its mover, in memory: a manifest is in place or parked, and no move is half done. */
import type { ParkedPod } from '../../../src/decide/static-pod/moves.ts';
import { readLive, type readStaticPods, type StaticPodStore } from '../../../src/agent/static-pods/view.ts';
import { type Manifest, parseManifest } from '../../../src/static-pods/manifest/manifest.ts';
import type { ParkStep } from '../../../src/static-pods/journal/journal.ts';
import type { Mover } from '../../../src/static-pods/mover.ts';

/** A parked manifest and the step that parked it. */
interface Parked {
  readonly manifest: Manifest;
  readonly step: ParkStep;
}

/** The manifests of one machine. */
export interface MachineManifests {
  readonly inPlace: ReadonlyMap<string, Manifest>;
  readonly parked: ReadonlyMap<string, Parked>;
  /** Puts one in place, as an administrator does; returns whether there was none of this name. */
  add(name: string, namespace: string, labels?: Readonly<Record<string, string>>): boolean;
  remove(name: string): boolean;
  /** What the agent moves them by. */
  readonly store: StaticPodStore;
  /** How the agent reads them. */
  readonly read: typeof readStaticPods;
}

function manifestOf(
  { name, namespace, labels }: { readonly name: string; readonly namespace: string; readonly labels: object },
  nodeName: string,
): Manifest {
  const containers = [{ name: 'main', image: `none.invalid/${name}` }];
  const spec = { priorityClassName: 'system-node-critical', containers };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec };
  const parsed = parseManifest({ name: `${name}.yaml`, bytes: Buffer.from(JSON.stringify(pod)) }, nodeName);
  if (parsed.kind !== 'pod') throw new Error(parsed.reason);
  return parsed;
}

function moverOf(inPlace: Map<string, Manifest>, parked: Map<string, Parked>): Mover {
  const mover: Pick<Mover, keyof Mover> = {
    recover: () => Promise.resolve({ failed: [], missing: [], problems: [] }),
    park: (step) => {
      const manifest = inPlace.get(step.file);
      if (manifest !== undefined) parked.set(step.file, { manifest, step });
      inPlace.delete(step.file);
      return Promise.resolve();
    },
    restore: (file) => {
      const found = parked.get(file);
      parked.delete(file);
      if (inPlace.has(file)) return Promise.resolve('kept-newer');
      if (found !== undefined) inPlace.set(file, found.manifest);
      return Promise.resolve('restored');
    },
    parkSteps: () => new Map([...parked].map(([file, { step }]) => [file, step])),
    retry: () => Promise.resolve(),
    problem: () => undefined,
  };
  return mover as Mover;
}

/** Makes an empty directory. */
export function createMachineManifests(nodeName: string): MachineManifests {
  const inPlace = new Map<string, Manifest>();
  const parked = new Map<string, Parked>();
  const mover = moverOf(inPlace, parked);
  const paths = { staticPodPath: '/manifests', parkedPath: '/parked', journalPath: '/journal' };
  return {
    inPlace,
    parked,
    add: (name, namespace, labels = { app: 'static' }) => {
      const manifest = manifestOf({ name, namespace, labels }, nodeName);
      if (inPlace.has(manifest.file) || parked.has(manifest.file)) return false;
      inPlace.set(manifest.file, manifest);
      return true;
    },
    remove: (name) => inPlace.delete(`${name}.yaml`),
    // Nothing else of the store is asked for where `read` and the mover are these.
    store: { paths, mover, check: () => Promise.resolve(undefined), refusal: () => undefined } as Omit<
      StaticPodStore,
      'disk'
    > as StaticPodStore,
    read: async (reader, _, { steps }, signal) => {
      const away = [...parked.values()].map(({ manifest }): ParkedPod & Manifest => {
        const step = steps.get(manifest.file);
        const thisBoot = step === undefined || step.bootId === reader.bootId;
        return { ...manifest, maintenance: step?.maintenance ?? '', parkedAt: step?.at ?? 0, thisBoot };
      });
      const live = away.some(({ thisBoot }) => thisBoot) ? await readLive(reader, signal) : undefined;
      return { inPlace: [...inPlace.values()], ended: [], parked: away, live };
    },
  };
}
