/** Tells users what its argument says, as the agent does. */
import process from 'node:process';
import { notifyUsers } from '../../src/host/wall.ts';

const write = (fields: object, message: string): void => console.error(message, fields);
const log = { debug: write, info: write, warn: write, error: write };
await notifyUsers(process.argv[2] ?? '', log, AbortSignal.timeout(10_000));
