import { describe, expect, it } from '@jest/globals';

import { added, message, readUpstreamAnswer } from '../../../../test/support/read-upstream-answer.js';

describe('what lies beside the output', () => {
  const state = { type: 'response.metadata', headers: { 'X-Codex-Turn-State': ['ts-1'] }, sequence_number: 4 };

  it('the reader of an answer takes the turn state of a socket from events, once', () => {
    const second = { ...state, headers: { 'x-codex-turn-state': 'ts-2' } };
    const { reader } = readUpstreamAnswer([state, second], { transport: 'websocket' });
    expect(reader.turnState).toBe('ts-1');
  });

  it.each([{ transport: 'sse' }, { transport: 'websocket', profile: 'codex-2026-02' }] as const)(
    'the reader of an answer takes no turn state from events: %j',
    (over) => {
      expect(readUpstreamAnswer([state], over).reader.turnState).toBeNull();
    },
  );

  it.each<readonly [state: unknown, kept: string | null]>([
    ['x'.repeat(4096), 'x'.repeat(4096)],
    ['x'.repeat(4097), null],
    ['a\r\nb', null],
    ['é', null],
    ['', null],
    [7, null],
  ])('the reader of an answer takes only a turn state that can be sent back in a header: %.60j', (value, kept) => {
    const event = { type: 'response.metadata', headers: { 'x-codex-turn-state': value } };
    const { reader, events } = readUpstreamAnswer([event, state], { transport: 'websocket' });
    expect(reader.turnState).toBe(kept ?? 'ts-1');
    expect(events).toEqual([{ type: 'metadata', headers: { 'x-codex-turn-state': kept ?? 'ts-1' } }]);
  });

  it('the reader of an answer gives the turn state to the client too, if it keeps it', () => {
    const given = (over: Parameters<typeof readUpstreamAnswer>[1]) => readUpstreamAnswer([state, state], over).events;
    expect(given({ transport: 'websocket' })).toEqual([
      { type: 'metadata', headers: { 'x-codex-turn-state': 'ts-1' } },
    ]);
    expect(given({ transport: 'sse' })).toEqual([]);
  });

  it('the reader of an answer gives headers in events once, as metadata: the service makes an event for sockets of them', () => {
    const etag = { type: 'codex.response.metadata', headers: { 'X-Models-Etag': ['v1'] }, sequence_number: 3 };
    const { events } = readUpstreamAnswer([etag, added(message('')), etag]);
    expect(events).toEqual([
      { type: 'metadata', headers: { 'x-models-etag': 'v1' } },
      { type: 'item.open', key: '0', item: message('') },
      { type: 'metadata', headers: { 'x-models-etag': 'v1' } },
    ]);
  });

  it('the reader of an answer passes on what such an event says beside its headers', () => {
    const verified = { type: 'response.metadata', metadata: { openai_verification_recommendation: ['trusted'] } };
    const { events } = readUpstreamAnswer([{ ...verified, headers: { 'x-ratelimit-limit-tokens': '9' } }]);
    expect(events).toEqual([
      { type: 'metadata', headers: { 'x-ratelimit-limit-tokens': '9' } },
      { type: 'event', event: verified },
    ]);
  });

  it.each(['response.metadata', 'codex.response.metadata', 'news_of_2027'])(
    'the reader of an answer gives no other headers of %s: not the name of the model, nor those about our own request or account',
    (type) => {
      const others = ['OpenAI-Model', 'x-openai-model', 'x-request-id', 'x-should-retry', 'x-api-key', 'x-azure-key'];
      const headers = Object.fromEntries(['authorization', ...others].map((name) => [name, 'secret']));
      const { events } = readUpstreamAnswer([{ type, headers, note: 1 }]);
      expect(events).toEqual([{ type: 'event', event: { type, note: 1 } }]);
    },
  );

  it('the reader of an answer passes on rate limits of Codex', () => {
    const limits = { type: 'codex.rate_limits', plan_type: 'plus', rate_limits: { primary: { used_percent: 42 } } };
    expect(readUpstreamAnswer([limits])).toMatchObject({ events: [{ type: 'event', event: limits }], counts: {} });
  });

  it('what lies beside the output is no output: the request can be repeated', () => {
    const { reader } = readUpstreamAnswer([
      { type: 'response.created', response: { id: 'resp_u' } },
      state,
      { type: 'codex.rate_limits' },
    ]);
    expect(reader.hasOutput).toBe(false);
    reader.read(JSON.stringify(added(message(''))));
    expect(reader.hasOutput).toBe(true);
  });

  it.each([
    ['events', Array.from({ length: 256 }, () => ({ type: 'news_of_2027' }))],
    [
      'characters',
      [
        { type: 'news_of_2027', note: 'x'.repeat(250_000) },
        { type: 'codex.rate_limits', note: 'y'.repeat(12_000) },
      ],
    ],
    ['characters of headers', [{ type: 'response.metadata', headers: { 'x-models-etag': 'x'.repeat(262_000) } }]],
  ])('what lies beside the output is not kept without end: many %s begin the answer', (_, many) => {
    expect(readUpstreamAnswer(many).reader.hasOutput).toBe(false);
    const { reader, events } = readUpstreamAnswer([...many, { type: 'news_of_2027', note: 'z'.repeat(200) }]);
    expect([reader.hasOutput, events.length]).toEqual([true, many.length + 1]);
  });
});
