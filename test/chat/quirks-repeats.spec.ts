import { describe, expect, it } from '@jest/globals';

import { callChunk, chunk, completion, entry, finish, type StreamData, streamOf } from './chunk-stream.js';
import { saidIn, type SaidItem } from '../support/output.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { TRANSPORTS } from '../support/transports.js';

const BOOK = { name: 'book', json: '{"seats":2}' };
const MADE = entry(BOOK.name, BOOK.json, { index: 0, id: 'call_one' });
const BOOKED: SaidItem = { call: BOOK.name, arguments: BOOK.json };
const PIECES = [chunk({ content: 'Booking ' }), chunk({ content: 'two seats.' })];
const TEXT: SaidItem = { text: 'Booking two seats.' };
const ALL = { content: 'Booking two seats.' };
const STOP = { finish_reason: 'stop' };

const CASES: readonly (readonly [what: string, data: readonly StreamData[], said: readonly SaidItem[]])[] = [
  ['the message in the last chunk', [...PIECES, completion(ALL, STOP)], [TEXT]],
  ['the message in the last chunk, behind a finish reason', [...PIECES, finish(), completion(ALL, STOP)], [TEXT]],
  ['the message beside an empty delta', [...PIECES, completion(ALL, { delta: {}, ...STOP })], [TEXT]],
  ['the text in the delta with the finish reason', [...PIECES, chunk(ALL, STOP)], [TEXT]],
  [
    'the text in several parts',
    [...PIECES, completion({ content: [{ type: 'text', text: ALL.content }] }, STOP)],
    [TEXT],
  ],
  [
    'a message whose end was in no delta',
    [...PIECES, completion({ content: `${ALL.content} Done.` }, STOP)],
    [{ text: 'Booking two seats. Done.' }],
  ],
  ['a message that differs from the deltas', [...PIECES, completion({ content: 'Booking.' }, STOP)], [TEXT]],
  [
    'a refusal',
    [chunk({ refusal: 'I will not.' }), completion({ refusal: 'I will not.' }, STOP)],
    [{ refusal: 'I will not.' }],
  ],
  [
    'a message with the call',
    [...PIECES, callChunk([MADE]), completion({ ...ALL, tool_calls: [MADE] }, { finish_reason: 'tool_calls' })],
    [TEXT, BOOKED],
  ],
  [
    'a message with the call under another id',
    [callChunk([MADE]), completion({ tool_calls: [entry(BOOK.name, { seats: 2 }, { id: 'call_two' })] }, STOP)],
    [BOOKED],
  ],
  [
    'a message with the call and one more',
    [callChunk([MADE]), completion({ tool_calls: [entry(BOOK.name, BOOK.json), entry('ring', '{"times":3}')] }, STOP)],
    [BOOKED, { call: 'ring', arguments: '{"times":3}' }],
  ],
  ['a call with its id', [callChunk([MADE]), callChunk([MADE]), finish('tool_calls')], [BOOKED]],
  [
    'a call with its id and other blanks',
    [callChunk([MADE]), callChunk([entry(BOOK.name, '{ "seats": 2 }', { id: 'call_one' })]), finish('tool_calls')],
    [BOOKED],
  ],
  [
    'a call with its id under the next index',
    [callChunk([MADE]), callChunk([{ ...MADE, index: 1 }]), finish('tool_calls')],
    [BOOKED],
  ],
  [
    'a call that was begun in pieces',
    [callChunk([entry(BOOK.name, '{"sea', { index: 0, id: 'call_one' })]), callChunk([MADE]), finish('tool_calls')],
    [BOOKED],
  ],
  [
    'the reasoning behind the text',
    [
      chunk({ reasoning_content: 'Two ' }),
      chunk({ reasoning_content: 'people.' }),
      ...PIECES,
      chunk({ reasoning: 'Two people.' }, STOP),
    ],
    [{ reasoning: 'Two people.' }, TEXT],
  ],
  [
    'the reasoning in the message',
    [chunk({ reasoning: 'Two people.' }), ...PIECES, completion({ reasoning: 'Two people.', ...ALL }, STOP)],
    [{ reasoning: 'Two people.' }, TEXT],
  ],
  // What only looks like a repetition.
  ['the same digit as the last token', [chunk({ content: '7' }), chunk({ content: '7' }, STOP)], [{ text: '77' }]],
  [
    'the same word within the answer',
    [chunk({ content: 'row, row, ' }), chunk({ content: 'row, row, ' }), chunk({ content: 'your boat' }), finish()],
    [{ text: 'row, row, row, row, your boat' }],
  ],
  [
    'the same function with other arguments',
    [callChunk([MADE]), callChunk([entry(BOOK.name, '{"seats":3}', { index: 1, id: 'call_two' })]), finish()],
    [BOOKED, { call: BOOK.name, arguments: '{"seats":3}' }],
  ],
  [
    'the same arguments under another id',
    [callChunk([MADE]), callChunk([{ ...MADE, index: 1, id: 'call_two' }]), finish()],
    [BOOKED, BOOKED],
  ],
];

const REAL = {
  prompt_tokens: 30,
  completion_tokens: 6,
  total_tokens: 36,
  prompt_tokens_details: { cached_tokens: 20 },
};
const ZERO = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const usage = (of: object): object => ({ choices: [], usage: of });

const COUNTS: readonly (readonly [what: string, data: readonly StreamData[]])[] = [
  ['before and after the answer', [usage({ ...REAL, completion_tokens: 0 }), ...PIECES, finish(), usage(REAL)]],
  ['twice', [...PIECES, finish(), usage(REAL), usage(REAL)]],
  ['once, and then as zero', [...PIECES, finish(), usage(REAL), usage(ZERO)]],
  ['as zero, and then once', [usage(ZERO), ...PIECES, finish(), usage(REAL)]],
  [
    'in two halves',
    [usage({ ...REAL, completion_tokens: 0 }), ...PIECES, finish(), usage({ ...ZERO, completion_tokens: 6 })],
  ],
];

describe('what an upstream says a second time', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));
  const tools = [BOOK.name, 'ring'].map((name) => ({
    type: 'function',
    name,
    parameters: { type: 'object' },
    strict: false,
  }));

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(CASES)('what an upstream says a second time is said once: %s', async (_, data, said) => {
      service.upstream.replay(streamOf(data));
      const { response } = await transport.run(service, { model: MODEL, input: 'Go on.', tools });
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(said);
    });

    it.each(COUNTS)('usage that an upstream says a second time is counted once: usage %s', async (_, data) => {
      service.upstream.replay(streamOf(data));
      const { response } = await transport.run(service, { model: MODEL, input: 'Go on.' });
      expect(response['usage']).toMatchObject({
        input_tokens: 30,
        input_tokens_details: { cached_tokens: 20 },
        output_tokens: 6,
        total_tokens: 36,
      });
    });
  });
});
