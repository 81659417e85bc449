import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { collectStream } from '../support/sse.js';

const TERMINAL = 'response.completed';
const REQUEST = { model: 'm', input: 'Hi' };

/** All events of a turn, as they are on the wire. */
type Run = (
  service: { readonly baseURL: string; readonly port: number },
  body: object,
) => Promise<readonly WireEvent[]>;

const RUNS: readonly (readonly [transport: string, run: Run])[] = [
  ['SSE', ({ baseURL }, body) => collectStream(`${baseURL}/responses`, body)],
  [
    'WebSocket',
    async (service, body) => {
      await using client = await SocketClient.open(service);
      client.send({ type: 'response.create', ...body });
      const events: WireEvent[] = [];
      do events.push(await client.next());
      while (events.at(-1)?.type !== TERMINAL);
      return events;
    },
  ],
];

describe.each(['openai', 'openresponses'] as const)('EVENT_NAMES=%s', (EVENT_NAMES) => {
  const service = useService({ providers: [ScriptedProvider], environment: { EVENT_NAMES } });
  const [delta, done] =
    EVENT_NAMES === 'openai'
      ? ['response.reasoning_text.delta', 'response.reasoning_text.done']
      : ['response.reasoning.delta', 'response.reasoning.done'];

  it.each(RUNS)('EVENT_NAMES names the events of reasoning over %s, and nothing else', async (_, run) => {
    service.provider.reply(
      { type: 'reasoning_summary', delta: 'In short.' },
      { type: 'reasoning', delta: 'Hm. ' },
      { type: 'reasoning', delta: 'Well.' },
      { type: 'text', delta: 'Yes.' },
    );
    const events = await run(service, REQUEST);
    const ofReasoning = events.filter(({ type }) => /^response\.reasoning(?:_text)?\./.test(type));
    expect(ofReasoning).toEqual([
      expect.objectContaining({ type: delta, delta: 'Hm. ', content_index: 0, output_index: 0 }),
      expect.objectContaining({ type: delta, delta: 'Well.' }),
      expect.objectContaining({ type: done, text: 'Hm. Well.' }),
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['response.reasoning_summary_text.delta', 'response.output_text.delta', TERMINAL]),
    );
  });

  it('EVENT_NAMES stores the parts under their own name', async () => {
    service.provider.reply({ type: 'reasoning', delta: 'Hm.' }, { type: 'text', delta: 'Yes.' });
    const response = await service.client().responses.create(REQUEST);
    const stored = await service.client().responses.retrieve(response.id);
    expect(stored.output[0]).toMatchObject({ type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] });
  });
});
