import { Conversation, MANNERS, type Patience } from './conversation.js';
import { inParallel } from './in-parallel.js';

/** How conversations are led. */
export interface ConverseOptions extends Patience {
  readonly turns?: number;
  /** Called for every turn that was acknowledged. */
  readonly onTurn?: () => void;
}

/** Turns of a conversation where it is not said how many. */
export const TURNS = 3;
/** Conversations that are led at a time. */
const WIDTH = 20;

/** New conversations in every manner. */
export function makeConversations(name: string, count: number): readonly Conversation[] {
  const manners = Array.from({ length: Math.ceil(count / MANNERS.length) }, () => MANNERS).flat();
  return manners.slice(0, count).map((manner, index) => new Conversation(`${name}-${index}`, manner));
}

/** Has each of them take turns through a balancer, or with one service. */
export function converse(
  balancer: { readonly port: number },
  conversations: readonly Conversation[],
  { turns = TURNS, onTurn = (): void => undefined, ...patience }: ConverseOptions = {},
): Promise<void> {
  return inParallel(conversations, WIDTH, async (conversation) => {
    for (let turn = 1; turn <= turns; turn += 1) {
      await conversation.say(balancer, `This is turn ${turn} of ${conversation.name}.`, patience);
      onTurn();
    }
    await conversation.hangUp();
  });
}

/** What the clients saw instead of answers, by kind. */
export function faultsOf(conversations: readonly Conversation[]): readonly string[] {
  return conversations.flatMap(({ faults }) => faults.map(({ kind }) => kind));
}
