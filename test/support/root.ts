import process from 'node:process';

/** Why a test of what only root can do is skipped for another user; false as root. */
export const NEEDS_ROOT: string | false = process.geteuid?.() !== 0 && 'needs root';
