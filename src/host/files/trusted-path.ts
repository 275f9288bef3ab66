/**
 * Paths that root acts on: each part of them must be such that nobody but root can put something else there. A path that
 * was found good stays good until root itself changes it, so that a look before an action is enough.
 */
import type { Stats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import {
  type UntrustedReason,
  untrustedReasonOf,
  type PathKind,
  type PathPart,
} from '../../decide/machine/path-trust.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';

/** As many links as Linux follows in one path (path_resolution(7)). */
const MAX_LINKS = 40;

/** What a path is to be. */
export interface WantedPath {
  readonly kind: PathKind;
  /** Whether its last part may be a link that root made in a directory of root's. Links before it always may. */
  readonly lastLink: 'follow' | 'refuse';
}

/** What was found: the path without links; the first part that is missing, with all before it good; or what is wrong. */
export type PathVerdict =
  | { readonly kind: 'trusted'; readonly path: string }
  | { readonly kind: 'missing'; readonly path: string }
  | ({ readonly kind: 'refused' } & UntrustedReason);

/** Whom to believe. Only tests give another than the default, for which `top` is `/` and `owners` is root alone. */
export interface PathTrust {
  /** A directory that is believed as it is, with all above it. */
  readonly top: string;
  readonly owners: readonly number[];
}

const ROOT_ONLY: PathTrust = { top: '/', owners: [0] };

function kindOf(stats: Stats): PathPart['kind'] {
  if (stats.isDirectory()) return 'directory';
  if (stats.isFile()) return 'file';
  if (stats.isSocket()) return 'socket';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

/** Undefined where there is nothing. Throws the errors of Node.js. */
async function lookAt(place: string): Promise<PathPart | undefined> {
  try {
    const stats = await lstat(place);
    return { path: place, kind: kindOf(stats), uid: stats.uid, mode: stats.mode };
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** What a walk ends with: a verdict, or a link and the path to go on with. */
type Step = PathVerdict | { readonly kind: 'link'; readonly target: string };

/** Looks at the parts of an absolute path up to its end or to the first link. */
async function walk(place: string, wanted: WantedPath, { top, owners }: PathTrust): Promise<Step> {
  const isBelow = place === top || place.startsWith(path.join(top, '/'));
  let reached = isBelow && top !== '/' ? top : '';
  const rest = place.slice(reached.length).split('/');
  for (const [index, part] of rest.entries()) {
    if (part === '.' || (part === '' && index > 0)) continue;
    if (part === '..') {
      reached = path.dirname(path.join('/', reached));
      continue;
    }
    // The first part of an absolute path is empty: it is `/` itself, or the top.
    if (part === '' && reached !== '') continue;
    const next = path.join(reached === '' ? '/' : reached, part);
    const after = rest.slice(index + 1);
    const isLast = after.every((name) => name === '' || name === '.');
    const found = await lookAt(next);
    if (found === undefined) return { kind: 'missing', path: next };
    const distrust = untrustedReasonOf(found, isLast ? wanted.kind : 'directory', owners);
    if (distrust !== undefined) return { kind: 'refused', ...distrust };
    if (found.kind === 'link') {
      if (isLast && wanted.lastLink === 'refuse') {
        const fix = `put a ${wanted.kind} of root's in its place: ls -ld ${next}`;
        return { kind: 'refused', path: next, problem: 'it is a symbolic link', fix };
      }
      const target = await readlink(next);
      // Not normalized: `..` after another link means the directory that the link leads to.
      return { kind: 'link', target: [...(path.isAbsolute(target) ? [] : [reached]), target, ...after].join('/') };
    }
    reached = next;
  }
  return { kind: 'trusted', path: reached };
}

async function follow(place: string, wanted: WantedPath, trust: PathTrust): Promise<PathVerdict> {
  let step: Step = { kind: 'link', target: place };
  for (let links = 0; links <= MAX_LINKS && step.kind === 'link'; links++)
    step = await walk(step.target, wanted, trust);
  if (step.kind !== 'link') return step;
  return { kind: 'refused', path: place, problem: `more than ${MAX_LINKS} symbolic links`, fix: `namei -l ${place}` };
}

/**
 * Looks at every part of an absolute path, links included, from `/` down. Changes nothing and never throws: what cannot be
 * looked at is refused. A process that is not root can be led to nothing that its user may not do anyway; for it every
 * path is good.
 */
export async function judgePath(place: string, wanted: WantedPath, trust?: PathTrust): Promise<PathVerdict> {
  if (trust === undefined && process.geteuid?.() !== 0) return { kind: 'trusted', path: place };
  try {
    return await follow(place, wanted, trust ?? ROOT_ONLY);
  } catch (error) {
    return {
      kind: 'refused',
      path: place,
      problem: `it cannot be looked at: ${describeError(error)}`,
      fix: `namei -l ${place}`,
    };
  }
}

/** A refusal in words: the path, what is wrong, and the command that puts it right. */
export function describeRefusal({ path: place, problem, fix }: UntrustedReason): string {
  return `${place} is not trusted: ${problem}; root acts only on paths that nobody else can change: ${fix}`;
}

/**
 * The path without links, or undefined where it is not there and all above it is good.
 *
 * @throws NodemaintError PATH_NOT_TRUSTED where it is refused, with the part of the path, what is wrong, and the fix.
 */
export async function requireTrustedPath(
  place: string,
  wanted: WantedPath,
  trust?: PathTrust,
): Promise<string | undefined> {
  const verdict = await judgePath(place, wanted, trust);
  if (verdict.kind === 'refused') throw new NodemaintError('PATH_NOT_TRUSTED', describeRefusal(verdict));
  return verdict.kind === 'trusted' ? verdict.path : undefined;
}
