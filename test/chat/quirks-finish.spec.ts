import { describe, expect, it } from '@jest/globals';

import { callChunk, chunk, completion, entry, finish, openStreamOf, streamOf } from './chunk-stream.js';
import type { StreamData } from './chunk-stream.js';
import { saidIn, type SaidItem } from '../support/output.js';
import { MODEL, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import type { Refusal } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const stop = { finish_reason: 'stop' };
const called = { finish_reason: 'tool_calls' };
const ring = (times: number, members: object = {}): object => entry('ring', `{"times":${times}}`, members);
const rung = (times: number): SaidItem => ({ call: 'ring', arguments: `{"times":${times}}` });
const tools = [{ type: 'function', name: 'ring', parameters: { type: 'object' }, strict: false }];
const [FIRST, SECOND] = [
  callChunk([ring(1, { index: 0, id: 'a' })], called),
  callChunk([ring(2, { index: 1, id: 'b' })], called),
];

const ENDS: readonly (readonly [what: string, data: readonly StreamData[], said: readonly SaidItem[]])[] = [
  [
    'in every chunk',
    [chunk({ reasoning: 'Hm.' }, stop), chunk({ content: 'Good ' }, stop), chunk({ content: 'day.' }, stop)],
    [{ reasoning: 'Hm.' }, { text: 'Good day.' }],
  ],
  [
    'in every chunk, one of which is a digit again',
    [chunk({ content: '8' }, stop), chunk({ content: '8' }, stop)],
    [{ text: '88' }],
  ],
  ['on the chunk of each call', [FIRST, SECOND], [rung(1), rung(2)]],
  [
    'behind each call',
    [callChunk([ring(1, { index: 0, id: 'a' })]), finish('tool_calls'), SECOND, finish('tool_calls')],
    [rung(1), rung(2)],
  ],
  [
    'behind the text and behind the call',
    [chunk({ content: 'Ringing.' }), finish(), FIRST],
    [{ text: 'Ringing.' }, rung(1)],
  ],
  [
    'before the last pieces of a call',
    [
      callChunk([entry('ring', '{"times"', { index: 0, id: 'a' })], called),
      callChunk([{ index: 0, function: { arguments: ':1}' } }]),
    ],
    [rung(1)],
  ],
  [
    'before the whole message',
    [chunk({ content: 'Good ' }), finish(), completion({ content: 'Good day.' }, stop)],
    [{ text: 'Good day.' }],
  ],
];

describe('a finish reason', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(ENDS)('a finish reason ends nothing before the stream does: %s', async (_, data, said) => {
      service.upstream.replay(streamOf(data));
      const { response } = await transport.run(service, { model: MODEL, input: 'Go on.', tools });
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(said);
    });
  });

  it.each<[string, string, SaidItem[]]>([
    ['a call, as [DONE] says', streamOf([callChunk([ring(1, { id: 'a' })])]), [rung(1)]],
    ['a call, as its JSON says', JSON.stringify(completion({ tool_calls: [ring(1)] })), [rung(1)]],
    [
      'a text, as its JSON says',
      JSON.stringify(completion({ content: 'Good day.' }, { finish_reason: null })),
      [{ text: 'Good day.' }],
    ],
  ])('a finish reason may be missing where the answer has ended: %s', async (_, body, said) => {
    service.upstream.replay(body);
    const { response } = await sendTurn(service, { tools });
    expect(response.status).toBe('completed');
    expect(saidIn(response)).toEqual(said);
  });

  it.each<[string, string]>([
    ['[DONE] is all', streamOf([])],
    ['nothing is said before [DONE]', streamOf([chunk({ role: 'assistant', content: '' })])],
    ['a JSON document has no choice', JSON.stringify({ object: 'chat.completion', choices: [] })],
    ['a JSON document ends in the middle', JSON.stringify(completion({ content: 'Good day.' })).slice(0, -5)],
    ['the stream has no [DONE] either', openStreamOf([chunk({ content: 'Good day.' })])],
  ])('a finish reason must be there where %s', async (_, body) => {
    service.upstream.replay(body);
    const response = await sendTurn(service).then(
      ({ response: { error } }) => error,
      (refusal: unknown) => (refusal as Refusal).error,
    );
    expect(response).toMatchObject({ code: 'server_error' });
  });

  it.each<[string, string, readonly StreamData[]]>([
    [
      'the last one',
      'incomplete',
      [chunk({ content: 'Good ' }, stop), chunk({ content: 'da' }, { finish_reason: 'length' })],
    ],
    [
      'the one before a stop that a proxy adds',
      'incomplete',
      [chunk({ content: 'Good da' }), finish('length'), finish()],
    ],
    [
      'the stop behind what came after another one',
      'completed',
      [chunk({ content: 'Good ' }), finish('length'), chunk({ content: 'day.' }, stop)],
    ],
  ])('the finish reason of several counts: %s', async (_, status, data) => {
    service.upstream.replay(streamOf(data));
    const { response } = await sendTurn(service);
    expect(response.status).toBe(status);
  });

  it.each<[string, readonly StreamData[]]>([
    ['in every chunk', [chunk({ content: 'Good ' }, stop)]],
    ['on the chunk of each call', [FIRST]],
    ['behind each call', [callChunk([ring(1, { index: 0, id: 'a' })]), finish('tool_calls'), SECOND]],
  ])('a finish reason does not complete an answer whose connection breaks: %s', async (_, data) => {
    service.upstream.replay(openStreamOf(data), { breaks: { after: 1, by: 'cut' } });
    const { response } = await sendTurn(service, { tools });
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  });
});
