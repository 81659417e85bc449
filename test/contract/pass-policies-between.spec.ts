import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';
import { runTools, TestPolicy, WORDS } from '../support/test-policy.js';

describe('a turn between two passes', () => {
  const policy = new TestPolicy();
  const observer = new RecordingObserver();
  const service = useService({ providers: [ScriptedProvider], imports: [policy.asModule(), observer.asModule()] });

  const leaving = {
    json: async (left: Promise<unknown>): Promise<void> => {
      const aborter = new AbortController();
      const asked = service.client().responses.create({ model: 'm', input: 'x' }, { signal: aborter.signal });
      const refused = expect(asked).rejects.toThrow('aborted');
      await left;
      aborter.abort();
      await refused;
    },
    sse: async (left: Promise<unknown>): Promise<void> => {
      const aborter = new AbortController();
      const stream = await service
        .client()
        .responses.create({ model: 'm', input: 'x', stream: true }, { signal: aborter.signal });
      await left;
      aborter.abort();
      for await (const _ of stream);
    },
    ws: async (left: Promise<unknown>): Promise<void> => {
      await using client = await SocketClient.open(service);
      client.send({ type: 'response.create', model: 'm', input: 'x' });
      await left;
    },
  };

  it.each(Object.entries(leaving))(
    'a turn between two passes is stopped when its client leaves, over %s',
    async (_, leave) => {
      const asked = Promise.withResolvers<undefined>();
      const stopped = Promise.withResolvers<undefined>();
      policy.follow = () => ({
        answer: ({ signal }) => {
          signal.addEventListener('abort', () => stopped.resolve(undefined));
          asked.resolve(undefined);
          return new Promise(() => undefined);
        },
      });
      service.provider.turns.length = 0;
      const before = observer.records.length;
      service.provider.reply({ type: 'function_call', name: 'weather' });
      await leave(asked.promise);
      await stopped.promise;
      expect((await observer.whenSettled(before + 1)).at(-1)).toMatchObject({ status: 'disconnected' });
      expect(service.provider.turns).toHaveLength(1);
    },
  );

  it('a turn between two passes shows the client what the first pass said before the policy has answered', async () => {
    const goOn = Promise.withResolvers<undefined>();
    policy.follow = () => ({
      answer: async (pass) => {
        await goOn.promise;
        return runTools('weather').answer?.(pass);
      },
    });
    service.provider.reply({ type: 'function_call', name: 'weather' }).reply(...WORDS);
    const answer = await openStream(`${service.baseURL}/responses`, { model: 'm', input: 'x', stream: true });
    if (!answer.streams) throw new Error('no stream');
    const types: unknown[] = [];
    for await (const { type } of answer.events) {
      types.push(type);
      if (type === 'response.output_item.done') goOn.resolve(undefined);
    }
    expect(types.at(-1)).toBe('response.completed');
  });

  it('a turn between two passes is remembered by its socket with what the model was given', async () => {
    policy.follow = () => runTools('weather');
    service.provider.reply({ type: 'function_call', name: 'weather', callId: 'call_0' }).reply(...WORDS);
    await using client = await SocketClient.open(service);
    const { response } = await client.turn({ model: 'm', input: 'x', store: false });
    await client.turn({ model: 'm', input: 'y', store: false, previous_response_id: response.id });
    expect(service.provider.turns.at(-1)?.context.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'message',
      'message',
    ]);
  });
});
