/** A part of a bundle, and how it is read: within a time and a size. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { readBoundedFile } from '../../host/files/bounded-file.ts';

/** One file of a bundle. */
export interface BundlePart {
  readonly name: string;
  /** What it is, for the list in the bundle. */
  readonly about: string;
  /** Throws where it cannot be read; the bundle then has the reason in its place. */
  readonly read: (signal: AbortSignal) => Promise<string>;
}

/** The most that a part may have, in bytes; of a longer one the end is kept. */
export const PART_BYTES = 2 * 1024 * 1024;
/** After this time a part is given up. */
export const PART_MS = 30_000;

/** What a program writes, also where its exit code is not 0. */
export function command(file: string, args: readonly string[]): BundlePart['read'] {
  return async (signal) => {
    const ended = Promise.withResolvers<string>();
    const options = { timeout: PART_MS, maxBuffer: 8 * PART_BYTES, signal };
    execFile(file, [...args], options, (error, stdout, stderr) => {
      if (error !== null && stdout === '') ended.reject(stderr === '' ? error : new Error(stderr.trim()));
      else ended.resolve(stdout);
    });
    return await ended.promise;
  };
}

/** This program with other words. */
export function self(...args: readonly string[]): BundlePart['read'] {
  return command(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args]);
}

/** A file as it is. */
export function file(name: string): BundlePart['read'] {
  return () => readBoundedFile(name, PART_BYTES);
}

/** A part by its name in the bundle, what it is, and how it is read. */
export function part(name: string, about: string, read: BundlePart['read']): BundlePart {
  return { name, about, read };
}

/** The journal of units as a text. */
export function journal(args: readonly string[]): BundlePart['read'] {
  return command('journalctl', [...args, '-o', 'short-iso-precise', '--no-pager']);
}
