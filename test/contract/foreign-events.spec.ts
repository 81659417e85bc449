import { describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { useFreshService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';
import { TRANSPORTS, WS_TRANSPORT } from '../support/transports.js';

const odd = (number: number): ModelEvent => ({
  type: 'event',
  event: { type: 'codex.odd', number, sequence_number: 41, stream_id: 'theirs' },
});
const say = (delta: string): ModelEvent => ({ type: 'text', delta });
const LIMITS: ModelEvent = {
  type: 'event',
  event: { type: 'codex.rate_limits', rate_limits: { primary: { used_percent: 42 }, secondary: null } },
};
const EVENTS = [odd(1), say('one '), odd(2), say('two'), odd(3)];

describe('events that are not part of the protocol', () => {
  const observer = new RecordingObserver();
  const service = useFreshService(async () => {
    observer.records.length = 0;
    return startService({ providers: [ScriptedProvider], imports: [observer.asModule()] });
  });

  it('events that are not part of the protocol reach a socket in their place, with its lane and without a number', async () => {
    service.provider.reply(...EVENTS);
    await using client = await SocketClient.open(service);
    client.create({ input: 'Go on.', stream_id: 'lane' });
    const { events = [] } = await client.finish('lane');
    const seen = events.filter(({ type }) => type === 'codex.odd' || type.endsWith('text.delta'));
    expect(seen.map(({ type, number, delta }) => [type, number ?? delta])).toEqual([
      ['codex.odd', 1],
      ['response.output_text.delta', 'one '],
      ['codex.odd', 2],
      ['response.output_text.delta', 'two'],
      ['codex.odd', 3],
    ]);
    // The client has chosen them by their lane.
    expect(events.filter(({ type }) => type === 'codex.odd')).toEqual(
      [1, 2, 3].map((number) => ({ type: 'codex.odd', number })),
    );
    expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 0 }]);
  });

  it.each(TRANSPORTS.filter((transport) => transport !== WS_TRANSPORT))(
    'events that are not part of the protocol are dropped and counted over $name',
    async (transport) => {
      service.provider.reply(...EVENTS);
      const { events = [], response } = await transport.run(service, { model: 'scripted', input: 'Go on.' });
      expect(response.status).toBe('completed');
      expect(events.filter(({ type }) => type === 'codex.odd')).toEqual([]);
      expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 3 }]);
    },
  );

  it('events that are not part of the protocol are dropped and counted in the background', async () => {
    service.provider.reply(...EVENTS);
    const { id } = await createInBackground(service);
    expect(await whenEnded(service, id)).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
    expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 3 }]);
  });

  it('events of rate limits are headers of a stream', async () => {
    service.provider.reply(LIMITS, say('one'));
    const answer = await openStream(`${service.baseURL}/responses`, { model: 'scripted', input: 'Hi' });
    expect(answer.headers.get('x-codex-primary-used-percent')).toBe('42');
    if (answer.streams) await Array.fromAsync(answer.events);
    expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 0 }]);
  });

  it('events of rate limits are dropped and counted once a stream has begun', async () => {
    const begun = Promise.withResolvers<null>();
    service.provider.play(async function* () {
      yield say('one');
      await begun.promise;
      yield [LIMITS, { type: 'finish', reason: 'stop' }];
    });
    const answer = await openStream(`${service.baseURL}/responses`, { model: 'scripted', input: 'Hi' });
    begun.resolve(null);
    if (answer.streams) await Array.fromAsync(answer.events);
    expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 1 }]);
  });

  it('events of rate limits are headers of a JSON document, whenever they come', async () => {
    service.provider.reply(say('one'), LIMITS);
    const { headers } = await service.api.post('responses', { model: 'scripted', input: 'Hi' });
    expect(headers.get('x-codex-primary-used-percent')).toBe('42');
    expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 0 }]);
  });

  it('events of rate limits are counted as dropped in the background', async () => {
    service.provider.reply(LIMITS, say('one'));
    const { id } = await createInBackground(service);
    await whenEnded(service, id);
    expect(await observer.whenSettled(1)).toMatchObject([{ droppedEvents: 1 }]);
  });
});
