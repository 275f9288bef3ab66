import path from 'node:path';

/** The sources of this checkout. */
export const CHECKOUT = path.join(import.meta.dirname, '..', '..');
