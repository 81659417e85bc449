import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { askProvider, ModelError, ProviderRegistry } from '../../src/index.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { simulatedTurn } from '../support/simulated-turn.js';
import { TestSink } from '../support/test-sink.js';

const ANSWER = { text: ['One', ' two'] };

/** The role, both pieces, the finish reason, the usage, the end. */
const PACKETS = 6;

describe('an answer that its client does not take', () => {
  const service = useService(() => startChatService({ provider: { retries: 0, connections: 1 } }));
  let sink: TestSink;

  beforeEach(() => {
    sink = new TestSink();
  });

  const ask = (): Promise<void> => {
    const { provider } = service.app.get(ProviderRegistry).route(MODEL);
    return askProvider(provider, simulatedTurn({ model: MODEL }, []), sink);
  };

  /** How it stands after the network had its time. */
  const stateOf = async (end: Promise<unknown>): Promise<string> => {
    for (let loopTurn = 0; loopTurn < 50; loopTurn += 1) await nextLoopTurn();
    const settled = end.then(
      () => 'resolved',
      () => 'rejected',
    );
    return Promise.race([settled, nextLoopTurn('pending')]);
  };

  const typesOf = (): readonly string[] => sink.events.map(({ type }) => type);

  it('an answer that waited for its client ends when it is taken, and its connection serves others before', async () => {
    const { upstream } = service;
    sink.fill();
    upstream.answer(ANSWER, { together: true });
    const end = ask();
    await sink.written(1);
    expect(await stateOf(end)).toBe('pending');
    expect(typesOf()).not.toContain('finish');
    const first = upstream.requests.at(-1);
    const others = new TestSink();
    const { provider } = service.app.get(ProviderRegistry).route(MODEL);
    await askProvider(provider, simulatedTurn({ model: MODEL }, []), others);
    expect(upstream.requests.at(-1)?.connection).toBe(first?.connection);
    sink.drain();
    await end;
    expect(typesOf().slice(-2)).toEqual(['usage', 'finish']);
  });

  it.each([
    ['a connection that breaks', 'cut'],
    ['an error of the upstream', { error: 'numberCode' }],
  ] as const)(
    'an answer that its client does not take fails by %s only when what came before is taken',
    async (_name, by) => {
      sink.fill();
      service.upstream.answer(ANSWER, { together: true, breaks: { after: 2, by } });
      const end = ask();
      end.catch(() => undefined);
      await sink.written(1);
      expect(await stateOf(end)).toBe('pending');
      sink.drain();
      await expect(end).rejects.toThrow(ModelError);
      expect(typesOf()).toContain('text');
    },
  );

  it('an answer that its client does not take ends at once when its turn is stopped', async () => {
    const { upstream } = service;
    sink.fill();
    upstream.hold().answer(ANSWER);
    upstream.release(2);
    const end = ask();
    await sink.written(1);
    sink.stop(new Error('stopped'));
    await expect(end).rejects.toThrow('stopped');
    await upstream.requests.at(-1)?.closed;
    upstream.release();
  });

  it('an answer that its client does not take is left when nothing more of it is read', async () => {
    const { upstream } = service;
    upstream.hold().answer(ANSWER);
    upstream.release(2);
    const end = ask();
    await sink.written(1);
    sink.close();
    upstream.release(1);
    await end;
    await upstream.requests.at(-1)?.closed;
    expect(typesOf()).not.toContain('finish');
    upstream.release();
  });

  it('an answer that its client does not take is held back at the next piece', async () => {
    const { upstream } = service;
    sink.fill();
    upstream.hold().answer(ANSWER);
    const end = ask();
    upstream.release(2);
    await sink.written(1);
    upstream.release(1);
    expect(await stateOf(end)).toBe('pending');
    expect(sink.batches).toHaveLength(1);
    sink.drain();
    upstream.release(PACKETS);
    await end;
    expect(sink.events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('')).toBe('One two');
  });

  it('an answer that its client does not take is hung up on where it is in an encoding that was not asked for', async () => {
    const { upstream } = service;
    upstream.answer(ANSWER, { gzip: true, breaks: { after: 2, by: 'stall' } });
    await expect(ask()).rejects.toThrow(ModelError);
    await upstream.requests.at(-1)?.closed;
  });
});
