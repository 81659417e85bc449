import { compare } from '../measure.ts';
import { Databases } from '../processes/databases.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { CPU_PER_TURN } from './chained-turns.ts';
import { ConversationTurns } from './conversation-turns.ts';
import { startService } from './programs.ts';

/** Items of a short and of a long conversation. */
const SHORT = 10;
const LONG = 10_000;

const cheap: readonly Goal[] = [{ figure: CPU_PER_TURN, of: 'ratio', atMost: 1.15 }];

/**
 * The cost of a turn in a conversation, from its lock to its save, with a model that ignores the context. The floor is a turn
 * that continues a response with as many items; for a long conversation, a turn in a short one.
 */
export const conversationsCase: BenchmarkCase = {
  name: 'conversations',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using databases = await Databases.start();
    const DATABASE_URL = await databases.create();
    return [
      ...(await compareTurns({ STATE: 'memory' }, sizes)),
      ...(await compareTurns({ STATE: 'postgres', DATABASE_URL }, sizes)),
    ];
  },
};

async function compareTurns(
  environment: Readonly<Record<string, string>>,
  sizes: Sizes,
): Promise<readonly Comparison[]> {
  await using service = await startService(environment);
  await using load = new LoadGenerator();
  const turns = new ConversationTurns({ service, load, turnsPerHistory: sizes.turnsPerStream });
  const contests = {
    [`http, a conversation ÷ previous_response_id`]: {
      service: () => turns.httpInConversations(SHORT),
      floor: () => turns.httpBehindResponses(SHORT),
    },
    [`socket, a conversation ÷ previous_response_id`]: {
      service: () => turns.socketInConversation(SHORT),
      floor: () => turns.socketBehindResponses(SHORT),
    },
    [`socket, ${LONG} items ÷ ${SHORT} items`]: {
      service: () => turns.socketInConversation(LONG),
      floor: () => turns.socketInConversation(SHORT),
    },
  };
  const comparisons: Comparison[] = [];
  for (const [name, contest] of Object.entries(contests)) {
    const figures = await compare(contest, sizes);
    comparisons.push({ name: `conversations, ${environment['STATE'] ?? ''}, ${name}`, figures, goals: cheap });
  }
  return comparisons;
}
