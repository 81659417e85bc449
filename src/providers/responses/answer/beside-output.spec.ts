import { describe, expect, it } from '@jest/globals';

import { added, message, readUpstreamAnswer } from '../../../../test/support/read-upstream-answer.js';

describe('what lies beside the output', () => {
  const state = { type: 'response.metadata', headers: { 'X-Codex-Turn-State': ['ts-1'] }, sequence_number: 4 };

  it('takes the turn state of a socket from events, once', () => {
    const second = { ...state, headers: { 'x-codex-turn-state': 'ts-2' } };
    const { reader } = readUpstreamAnswer([state, second], { transport: 'websocket' });
    expect(reader.turnState).toBe('ts-1');
  });

  it.each([{ transport: 'sse' }, { transport: 'websocket', profile: 'codex-2026-02' }] as const)(
    'takes no turn state from events: %j',
    (over) => {
      expect(readUpstreamAnswer([state], over).reader.turnState).toBeNull();
    },
  );

  it('gives headers in events to clients over HTTP, before the output, and to sockets', () => {
    const etag = { type: 'codex.response.metadata', headers: { 'x-models-etag': 'v1' } };
    const { events } = readUpstreamAnswer([etag, added(message('')), etag]);
    expect(events).toEqual([
      { type: 'metadata', headers: { 'x-models-etag': 'v1' } },
      { type: 'event', event: etag },
      { type: 'item.open', key: '0', item: message('') },
      { type: 'event', event: etag },
    ]);
  });

  it('never passes on the name of the model, nor headers about our own request', () => {
    const headers = {
      'OpenAI-Model': 'other',
      'X-OpenAI-Model': 'other',
      'x-request-id': 'r',
      authorization: 'secret',
    };
    for (const type of ['response.metadata', 'codex.response.metadata', 'news_of_2027']) {
      const { events } = readUpstreamAnswer([{ type, headers }]);
      expect(events).toEqual([{ type: 'event', event: { type, headers: {} } }]);
    }
  });

  it('passes on rate limits of Codex', () => {
    const limits = { type: 'codex.rate_limits', plan_type: 'plus', rate_limits: { primary: { used_percent: 42 } } };
    expect(readUpstreamAnswer([limits])).toMatchObject({ events: [{ type: 'event', event: limits }], counts: {} });
  });

  it('is no output: the request can be repeated', () => {
    const { reader } = readUpstreamAnswer([
      { type: 'response.created', response: { id: 'resp_u' } },
      state,
      { type: 'codex.rate_limits' },
    ]);
    expect(reader.hasOutput).toBe(false);
    reader.read(JSON.stringify(added(message(''))));
    expect(reader.hasOutput).toBe(true);
  });

  it('is not kept without end: very many such events begin the answer', () => {
    const many = Array.from({ length: 300 }, () => ({ type: 'news_of_2027' }));
    expect(readUpstreamAnswer(many).reader.hasOutput).toBe(true);
  });
});
