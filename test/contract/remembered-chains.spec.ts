import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { ContinuationCaches } from '../../src/context/index.js';
import { DeletionNotices, ResponseStore } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { transcript } from '../support/output.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';

const NOT_FOUND = { status: 400, body: { error: { code: 'previous_response_not_found' } } };

/** Resolves when a service hears of deletions elsewhere. */
function whenHearing(notices: DeletionNotices): Promise<void> {
  return new Promise((resolve) => {
    const interrupted = jest.fn();
    notices.subscribe({ deleted: () => undefined, interrupted, resumed: resolve });
    // A listener is told at once.
    if (interrupted.mock.calls.length === 0) resolve();
  });
}

describe.each(EVERY_STATE)('a chain over HTTP in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], environment: { API_KEYS: 'one:key-of-one,two:key-of-two' } }),
  );
  const one = (): ApiClient => service.api.with({ authorization: 'Bearer key-of-one' });
  let reads: jest.SpiedFunction<ResponseStore['chain']>;

  // Before, nothing is remembered.
  beforeAll(() => whenHearing(service.app.get(DeletionNotices)));

  beforeEach(() => {
    reads = jest.spyOn(service.app.get(ResponseStore), 'chain');
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  const context = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  /** A chain of turns with these inputs; gives their ids. */
  const say = async (...inputs: readonly string[]): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (const input of inputs) {
      const { id } = await one().create({ input, previous_response_id: ids.at(-1) ?? null });
      ids.push(id);
    }
    return ids;
  };

  it('a chain over HTTP is read from the store once', async () => {
    await say('One', 'Two', 'Three', 'Four');
    expect(reads).toHaveBeenCalledTimes(1);
    expect(context()).toEqual([
      'user: One',
      'assistant: ok',
      'user: Two',
      'assistant: ok',
      'user: Three',
      'assistant: ok',
      'user: Four',
    ]);
  });

  it('a chain over HTTP is read once for all turns that go on from one response', async () => {
    const [root = '', second = ''] = await say('One', 'Two');
    await Promise.all([root, second, second].map((id) => one().create({ input: 'Else', previous_response_id: id })));
    await one().create({ input: 'Last', previous_response_id: second });
    expect(context()).toEqual(['user: One', 'assistant: ok', 'user: Two', 'assistant: ok', 'user: Last']);
    await one().create({ input: 'Last', previous_response_id: root });
    expect(context()).toEqual(['user: One', 'assistant: ok', 'user: Last']);
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('a chain over HTTP cannot be continued where it was deleted', async () => {
    const [root = '', second = '', third = ''] = await say('One', 'Two', 'Three');
    await one().delete(`responses/${third}`);
    await expect(one().create({ previous_response_id: third })).rejects.toMatchObject(NOT_FOUND);
    await one().delete(`responses/${root}?cascade=true`);
    await expect(one().create({ previous_response_id: second })).rejects.toMatchObject(NOT_FOUND);
  });

  it('a chain over HTTP keeps a deleted response in the context of those that continue it', async () => {
    const [root = '', second = ''] = await say('One', 'Two');
    await one().delete(`responses/${root}`);
    await one().create({ input: 'Three', previous_response_id: second });
    expect(context()).toEqual(['user: One', 'assistant: ok', 'user: Two', 'assistant: ok', 'user: Three']);
  });

  it('a chain is not remembered where its end is deleted before its turn has ended', async () => {
    const before = service.app.get(ContinuationCaches).recent.bytes;
    const [root = '', second = ''] = await say('One', 'Two');
    service.provider.play(async function* () {
      await one().delete(`responses/${root}?cascade=true`);
      yield { type: 'text', delta: 'late' };
      yield { type: 'finish', reason: 'stop' };
    });
    await one().post('responses', { model: 'scripted', input: 'On', previous_response_id: second });
    expect(service.app.get(ContinuationCaches).recent.bytes).toBe(before);
  });

  it('a remembered chain is nothing that another tenant could continue', async () => {
    const [, , third = ''] = await say('One', 'Two', 'Three');
    await expect(
      service.api.with({ authorization: 'Bearer key-of-two' }).create({ previous_response_id: third }),
    ).rejects.toMatchObject(NOT_FOUND);
  });

  it('a chain over HTTP goes on without the input of a turn that was refused or failed', async () => {
    const [, second = ''] = await say('One', 'Two');
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'Lo' };
      throw new Error('the model is gone');
    });
    await one().post('responses', { model: 'scripted', input: 'Lost', previous_response_id: second });
    const call_id = 'call_unknown';
    const output = { type: 'function_call_output', call_id, output: '' };
    await one().post('responses', { model: 'scripted', input: [output], previous_response_id: second });
    await one().create({ input: 'Three', previous_response_id: second });
    expect(context()).toEqual(['user: One', 'assistant: ok', 'user: Two', 'assistant: ok', 'user: Three']);
  });

  it('a chain over HTTP is not continued from a response with store: false', async () => {
    const [, second = ''] = await say('One', 'Two');
    const { id } = await one().create({ previous_response_id: second, store: false });
    await expect(one().create({ previous_response_id: id })).rejects.toMatchObject(NOT_FOUND);
  });

  it('a chain over HTTP is read each time while deletions elsewhere are not heard of', async () => {
    const [, second = ''] = await say('One', 'Two');
    const notices = service.app.get(DeletionNotices);
    reads.mockClear();
    notices.interrupt();
    const third = await one().create({ input: 'Three', previous_response_id: second });
    await one().create({ input: 'Four', previous_response_id: third.id });
    expect(reads).toHaveBeenCalledTimes(2);
    notices.resume();
    await one().create({ input: 'Four', previous_response_id: third.id });
    await one().create({ input: 'Four', previous_response_id: third.id });
    expect(reads).toHaveBeenCalledTimes(3);
    expect(context()).toEqual([
      'user: One',
      'assistant: ok',
      'user: Two',
      'assistant: ok',
      'user: Three',
      'assistant: ok',
      'user: Four',
    ]);
  });
});

describe.each(EVERY_STATE.filter(({ state }) => state === 'sqlite'))(
  'what is remembered of chains over HTTP in $state',
  ({ open }) => {
    /** One text of 16 kB in memory. */
    const LARGE = 'x'.repeat(8000);

    it.each([
      ['nothing with CONTEXT_CACHE_BYTES=0', 0, 3],
      ['the contexts that were used last', 60_000, 1],
      ['all of them where there is room', 1_000_000, 0],
    ])('the memory of chains holds %s', async (_, bytes, count) => {
      await using service = await startServiceIn(open, {
        providers: [ScriptedProvider],
        environment: { CONTEXT_CACHE_BYTES: bytes },
      });
      const api = new ApiClient(service.baseURL);
      const chain = async (): Promise<string> => {
        const { id } = await api.create({ input: LARGE });
        return (await api.create({ previous_response_id: id })).id;
      };
      const [first, ...others] = [await chain(), await chain(), await chain(), await chain()];
      const reads = jest.spyOn(service.app.get(ResponseStore), 'chain');
      for (const id of [first, others.at(-1), others.at(-1)]) await api.create({ previous_response_id: id });
      expect(reads).toHaveBeenCalledTimes(count);
      expect(service.app.get(ContinuationCaches).recent.bytes).toBeLessThanOrEqual(bytes);
    });

    it('the memory of chains counts the calls that each of them waits for', async () => {
      await using service = await startServiceIn(open, { providers: [ScriptedProvider] });
      const api = new ApiClient(service.baseURL);
      const calls = (count: number, name: string): object[] =>
        Array.from({ length: count }, (_, index) => {
          return { type: 'function_call', name: 'f', arguments: '{}', call_id: `${name}_${index}`, async: true };
        });
      const { recent } = service.app.get(ContinuationCaches);
      let { id } = await api.create({ input: calls(500, 'first') });
      ({ id } = await api.create({ previous_response_id: id, input: calls(1, 'second') }));
      const before = recent.bytes;
      await api.create({ previous_response_id: id, input: calls(1, 'third') });
      // A list of its own, with all that came before.
      expect(recent.bytes - before).toBeGreaterThan(50_000);
    });

    it('the memory of chains holds nothing of a context that the store might refuse', async () => {
      await using service = await startServiceIn(open, {
        providers: [ScriptedProvider],
        environment: { CONTEXT_MAX_BYTES: 1_048_576 },
      });
      const api = new ApiClient(service.baseURL);
      const { id } = await api.create({ input: 'x'.repeat(200_000) });
      await api.create({ previous_response_id: id });
      expect(service.app.get(ContinuationCaches).recent.bytes).toBe(0);
    });
  },
);
