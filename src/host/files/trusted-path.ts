/**
 * Paths that root uses: no other user may be able to replace any part of them. A trusted path stays trusted until root itself
 * changes it, so a check before the use is enough.
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

/** A path with more links is refused; Linux has the same limit (path_resolution(7)). */
const MAX_LINKS = 40;

/** What a path must be. */
export interface WantedPath {
  readonly kind: PathKind;
  /** Whether its last part may be a link that root has created. Links before it are always followed. */
  readonly lastLink: 'follow' | 'refuse';
}

/** The path without links; or its first missing part, if all parts before it are trusted; or why it is refused. */
type PathVerdict =
  | { readonly kind: 'trusted'; readonly path: string }
  | { readonly kind: 'missing'; readonly path: string }
  | ({ readonly kind: 'refused' } & UntrustedReason);

/** Which owners are trusted. Only tests change the default, in which `top` is `/` and `owners` is root alone. */
export interface PathTrust {
  /** A directory that is trusted without a check, with all directories above it. */
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

/** Reads one part of a path; undefined if it is missing. Throws the errors of Node.js. */
async function readPart(place: string): Promise<PathPart | undefined> {
  try {
    const stats = await lstat(place);
    return { path: place, kind: kindOf(stats), uid: stats.uid, mode: stats.mode };
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The result of a walk: a verdict, or a link and the path that must be walked next. */
type Step = PathVerdict | { readonly kind: 'link'; readonly target: string };

/** Checks the parts of an absolute path up to its end or to the first link. */
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
    const found = await readPart(next);
    if (found === undefined) return { kind: 'missing', path: next };
    const untrusted = untrustedReasonOf(found, isLast ? wanted.kind : 'directory', owners);
    if (untrusted !== undefined) return { kind: 'refused', ...untrusted };
    if (found.kind === 'link') {
      if (isLast && wanted.lastLink === 'refuse') {
        const fix = `put a ${wanted.kind} of root's in its place: ls -ld ${next}`;
        return { kind: 'refused', path: next, problem: 'it is a symbolic link', fix };
      }
      const target = await readlink(next);
      // Not normalized: `..` after a link means the parent of the directory to which the link leads.
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
 * Checks every part of an absolute path, links included, from `/` down. Changes nothing and never throws: a part that cannot
 * be read is refused. For a process that is not root every path is trusted, because it can only do what its user may do.
 */
export async function judgePath(place: string, wanted: WantedPath, trust?: PathTrust): Promise<PathVerdict> {
  if (trust === undefined && process.geteuid?.() !== 0) return { kind: 'trusted', path: place };
  try {
    return await follow(place, wanted, trust ?? ROOT_ONLY);
  } catch (error) {
    return {
      kind: 'refused',
      path: place,
      problem: `it cannot be read: ${describeError(error)}`,
      fix: `namei -l ${place}`,
    };
  }
}

/** Describes a refusal: the path, the problem, and the command that fixes it. */
export function describeRefusal({ path: place, problem, fix }: UntrustedReason): string {
  return `${place} is not trusted: ${problem}; root acts only on paths that no other user can change: ${fix}`;
}

/**
 * The path without links; undefined if it is missing and the directories above it are trusted.
 *
 * @throws NodemaintError PATH_NOT_TRUSTED if it is refused, with the part of the path, the problem and the fix.
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
