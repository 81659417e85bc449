import { compare, type Sample } from '../measure.ts';
import { Databases } from '../processes/databases.ts';
import type { Saver } from '../processes/saver.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareBackends } from './compare-backends.ts';
import { startFloorSaver, startStoreSaver } from './programs.ts';

/** Numbers of chains that save concurrently. */
const CONVERSATIONS = [1, 32];

/**
 * What it costs to store a response: a whole turn by backend, and the rate of PostgreSQL's store alone, whose floor inserts the same rows
 * with bare statements.
 */
export const savesCase: BenchmarkCase = {
  name: 'saves',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    return [...(await compareStore(sizes)), ...(await compareBackends(sizes))];
  },
};

async function compareStore(sizes: Sizes): Promise<readonly Comparison[]> {
  await using databases = await Databases.start();
  await using service = await startStoreSaver(await databases.create());
  await using floor = await startFloorSaver(await databases.create());
  for (const saver of [service, floor]) await runRound(saver, 1, sizes);
  await databases.analyze();
  const comparisons: Comparison[] = [];
  for (const conversations of CONVERSATIONS) {
    const contest = {
      service: () => runRound(service, conversations, sizes),
      floor: () => runRound(floor, conversations, sizes),
    };
    comparisons.push({ name: `saves, ${conversations} at once`, figures: await compare(contest, sizes) });
  }
  await databases.requireEqual();
  return comparisons;
}

async function runRound(saver: Saver, conversations: number, { saves, deltas }: Sizes): Promise<Sample> {
  const responsesPerConversation = Math.ceil(saves / conversations);
  const responses = conversations * responsesPerConversation;
  const cpuBefore = await saver.cpuMicroseconds();
  const { seconds } = await saver.save({ conversations, responsesPerConversation, deltas });
  // Both sides include the cost of making the responses.
  const cpu = (await saver.cpuMicroseconds()) - cpuBefore;
  return { 'saves per second': responses / seconds, 'client CPU per save, µs': cpu / responses };
}
