import path from 'node:path';
import type * as z from 'zod';
import { isInDirectory, parkedPathProblem } from '../decide/static-pod/overlap.ts';

interface Places {
  readonly staticPodPath?: string;
  readonly parkedPath?: string;
  readonly stateDirectory: string;
  readonly runDirectory: string;
  readonly hooksDirectory: string;
  readonly triggerFile?: string;
}

/** Refuses places that would harm each other: the kubelet would read the agent's files as manifests, or the agent others. */
export function checkPlaces(places: Places, context: z.core.$RefinementCtx): void {
  const refuse = (key: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [key], message });
  };
  const statics = places.staticPodPath === undefined ? undefined : path.resolve(places.staticPodPath);
  const parked = places.parkedPath === undefined ? undefined : path.resolve(places.parkedPath);
  const problem = statics === undefined || parked === undefined ? undefined : parkedPathProblem(statics, parked);
  if (problem !== undefined) {
    refuse('parkedPath', `${problem} (key staticPodPath); name a directory outside of it, or remove the key`);
  }
  for (const key of ['stateDirectory', 'runDirectory', 'hooksDirectory', 'triggerFile'] as const) {
    const place = places[key];
    if (place === undefined) continue;
    if (statics !== undefined && isInDirectory(path.resolve(place), statics)) {
      refuse(
        key,
        `lies in the directory of the static pods, ${statics} (key staticPodPath), where the kubelet takes every file for a manifest; name a place outside of it`,
      );
    }
    if (parked !== undefined && isInDirectory(path.resolve(place), parked)) {
      refuse(key, `lies in the directory of parked manifests, ${parked} (key parkedPath); name a place outside of it`);
    }
  }
}
