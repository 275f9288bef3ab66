/** Opens the journal at the start of the agent, also after a crash or with a broken disk. */
import { describeError } from '../../errors.ts';
import type { Disk } from '../disk/disk.ts';
import { type JournalLocation, type JournalStep, readIfThere, readSteps } from './journal.ts';

/** The journal that was found. */
interface FoundJournal {
  readonly location: JournalLocation;
  readonly steps: readonly JournalStep[];
  /** Problems of the journal, one sentence each. */
  readonly problems: readonly string[];
}

/** The steps of an earlier process of this boot that could not write to the disk: all of its steps, not only the newest. */
async function readStandIn(standIn: string | undefined): Promise<readonly JournalStep[] | undefined> {
  if (standIn === undefined) return undefined;
  const text = await readIfThere(standIn).catch(() => undefined);
  return text === undefined ? undefined : readSteps(text).steps;
}

/**
 * Reads the steps. A journal with damaged lines is renamed, so that a person can inspect it, and its readable steps are used.
 * A journal that cannot be read or renamed is not changed, and no steps are written to it.
 */
export async function openJournal(location: JournalLocation, disk: Pick<Disk, 'rename'>): Promise<FoundJournal> {
  const { file, standIn } = location;
  const ahead = await readStandIn(standIn);
  let text: string | undefined;
  try {
    text = await readIfThere(file);
  } catch (error) {
    const sealed = `cannot read the journal ${file}: ${describeError(error)}`;
    return { location: { ...location, sealed }, steps: ahead ?? [], problems: [sealed] };
  }
  const { steps, damaged } = readSteps(text ?? '');
  if (damaged.length === 0) return { location, steps: ahead ?? steps, problems: [] };
  const more = damaged.length > 1 ? `, and ${damaged.length - 1} more,` : '';
  const lines = `line ${damaged[0]}${more} of the journal ${file} is damaged`;
  const aside = `${file}.damaged`;
  try {
    await disk.rename(file, aside);
    const problem = `${lines}; it was moved to ${aside}, and its other lines are used: check the parked manifests`;
    return { location, steps: ahead ?? steps, problems: [problem] };
  } catch (error) {
    const sealed = `${lines} and it cannot be moved aside: ${describeError(error)}`;
    return { location: { ...location, sealed }, steps: ahead ?? steps, problems: [sealed] };
  }
}
