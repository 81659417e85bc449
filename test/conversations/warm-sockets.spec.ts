import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { asTenant, ConversationStore, type Item, ResponseStore } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { TestConversation } from './test-conversation.js';
import { useScriptedService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('a socket with a conversation in $state', ({ open }) => {
  const service = useScriptedService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let conversation: TestConversation;
  let client: SocketClient;
  /** What each turn asked the state for: how the conversation was opened, and how many items were read. */
  let opened: { readonly known: boolean; readonly items: number }[];
  let others: string[];

  beforeEach(async () => {
    conversation = await TestConversation.create(service.api, 'Before');
    client = await SocketClient.open(service);
    opened = [];
    others = [];
    const [store, responses] = [service.app.get(ConversationStore), service.app.get(ResponseStore)];
    const openNow = store.open.bind(store);
    jest.spyOn(store, 'open').mockImplementation(async (tenant, id, options) => {
      const answer = await openNow(tenant, id, options);
      const items = 'items' in answer ? (answer.items?.length ?? 0) : 0;
      opened.push({ known: options.knownVersion !== undefined, items });
      return answer;
    });
    for (const method of ['chain', 'items'] as const) {
      const real = responses[method].bind(responses) as (...asked: readonly unknown[]) => unknown;
      jest.spyOn(responses, method).mockImplementation(((...asked: readonly unknown[]) => {
        others.push(method);
        return real(...asked);
      }) as never);
    }
  });

  afterEach(async () => {
    await client[Symbol.asyncDispose]();
    jest.restoreAllMocks();
  });

  const turn = async (input: string, more: object = {}): Promise<string> =>
    (await client.turn({ input, conversation: conversation.id, ...more })).response.id;
  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  it('a socket with a conversation reads its items once, in one call per turn', async () => {
    for (const input of ['One', 'Two', 'Three']) await turn(input);
    expect(seen()).toEqual([
      ...['user: Before', 'user: One', 'assistant: ok', 'user: Two', 'assistant: ok', 'user: Three'],
    ]);
    expect(opened).toEqual([
      { known: false, items: 1 },
      { known: true, items: 0 },
      { known: true, items: 0 },
    ]);
    expect(others).toEqual([]);
    expect(await conversation.items()).toHaveLength(7);
  });

  it('a socket with a conversation tells providers the response before, which an upstream may continue', async () => {
    const first = await turn('One');
    expect(service.provider.turns[0]?.parent).toBeNull();
    await turn('Two');
    expect(service.provider.turns[1]?.parent).toMatchObject({ responseId: first });
    expect(service.provider.turns[1]?.input).toHaveLength(1);
  });

  it('a socket reads the items of a conversation in a warm-up, which may come without input', async () => {
    const { response } = await client.warmUp({ conversation: conversation.id, input: [] });
    expect(response).toMatchObject({ conversation: { id: conversation.id }, output: [] });
    await turn('One');
    expect(opened).toMatchObject([{ items: 1 }, { known: true, items: 0 }]);
    expect(await conversation.transcript()).toEqual(['user: Before', 'user: One', 'assistant: ok']);
  });

  it('a socket with a conversation sees items that were added elsewhere', async () => {
    await turn('One');
    await conversation.add('Elsewhere');
    await service.api.create({ input: 'Over HTTP', conversation: conversation.id });
    await turn('Two');
    expect(seen().slice(3)).toEqual(['user: Elsewhere', 'user: Over HTTP', 'assistant: ok', 'user: Two']);
    expect(opened.at(-1)).toEqual({ known: true, items: 6 });
    await turn('Three');
    expect(opened.at(-1)).toEqual({ known: true, items: 0 });
  });

  it('a socket with a conversation does not see items that were deleted elsewhere, also when it continues a response', async () => {
    const id = await turn('One');
    const [before] = await conversation.items();
    await service.api.delete(`${conversation.path}/items/${before?.id ?? ''}`);
    await client.turn({ input: 'Branch', previous_response_id: id });
    expect(seen()).toEqual(['user: One', 'assistant: ok', 'user: Branch']);
    await turn('Two');
    expect(seen()).toEqual(['user: One', 'assistant: ok', 'user: Two']);
  });

  it('a socket with a conversation does not see items that were deleted elsewhere two responses back', async () => {
    const first = await turn('One');
    const next = await client.turn({ input: 'Branch', previous_response_id: first });
    const [before] = await conversation.items();
    await service.api.delete(`${conversation.path}/items/${before?.id ?? ''}`);
    await client.turn({ input: 'Leaf', previous_response_id: next.response.id });
    expect(seen()).toEqual(['user: One', 'assistant: ok', 'user: Branch', 'assistant: ok', 'user: Leaf']);
  });

  it('a socket forgets a conversation when it is deleted', async () => {
    await turn('One');
    await service.api.delete(conversation.path);
    expect(await client.refusal({ input: 'Two', conversation: conversation.id })).toMatchObject({ status: 404 });
  });

  it('a socket remembers several conversations, on several lanes', async () => {
    const other = await TestConversation.create(service.api, 'Other');
    for (let round = 0; round < 2; round += 1) {
      await turn(`a${round}`, { stream_id: 'a' });
      await turn(`b${round}`, { stream_id: 'b', conversation: other.id });
    }
    expect(seen()).toEqual(['user: Other', 'user: b0', 'assistant: ok', 'user: b1']);
    expect(opened.map(({ items }) => items)).toEqual([1, 1, 0, 0]);
    // A lane can go on with the conversation of another one.
    await turn('c', { stream_id: 'b' });
    expect(seen().at(-1)).toBe('user: c');
    expect(opened.at(-1)?.items).toBe(0);
  });

  it('a socket with a conversation does not take a turn with store: false for a part of it', async () => {
    await turn('One');
    await turn('Unstored', { store: false });
    await turn('Two');
    expect(seen()).toEqual(['user: Before', 'user: One', 'assistant: ok', 'user: Two']);
  });
});

describe.each(STATES)('a turn on a warm socket in $state', ({ open }) => {
  const service = useScriptedService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  it('a turn on a warm socket copies no item of the conversation, if its model does not read them', async () => {
    // A model that reports its usage: without, the service counts tokens, and reads everything.
    service.provider.otherwise(async function* () {
      yield [
        { type: 'text', delta: 'ok' },
        { type: 'usage', input: 1, output: 1 },
        { type: 'finish', reason: 'stop' },
      ];
    });
    const store = service.app.get(ConversationStore);
    await using client = await SocketClient.open(service);
    const copied: number[] = [];
    for (const length of [10, 10_000]) {
      const conversation = await TestConversation.create(service.api);
      await store.append(asTenant('anybody'), conversation.id, messages(length));
      const turn = (): Promise<unknown> => client.turn({ input: 'Hi', conversation: conversation.id });
      await turn();
      copied.push(await countCopies(turn));
    }
    const [few = NaN, many = NaN] = copied;
    expect(few).toBeGreaterThan(0);
    // Less than one copy of the list; the rest differs with the chunks in which frames arrive.
    expect(many).toBeLessThan(few + 1000);
  });
});

function messages(count: number): readonly Item[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'message',
    id: `msg_${index}`,
    role: 'user',
    content: [],
  }));
}

/** The elements that lists are asked for while something runs, here and in the service: a copy of a long one shows. */
async function countCopies(run: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const prototype = Array.prototype as unknown as Record<
    string | symbol,
    (this: unknown[], ...values: never[]) => unknown
  >;
  const methods = [
    Symbol.iterator,
    'map',
    'filter',
    'concat',
    'flatMap',
    'toReversed',
    'forEach',
    'find',
    'some',
    'slice',
  ];
  const restored = methods.map((name) => {
    const real = prototype[name];
    if (real === undefined) throw new Error(`lists have no ${String(name)}`);
    prototype[name] = function (...values) {
      const answer = real.apply(this, values);
      count += name === 'slice' ? (answer as unknown[]).length : this.length;
      return answer;
    };
    return () => void (prototype[name] = real);
  });
  try {
    await run();
    return count;
  } finally {
    for (const restore of restored) restore();
  }
}
