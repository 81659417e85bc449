import { expect } from '@jest/globals';

import { message, outputText } from './parity-turn.js';

/** A turn of a script and what every transport makes of it. */
export interface ScriptedAnswer {
  readonly name: string;
  readonly turn: object;
  readonly body?: object;
  readonly expected: object;
  /** The deltas of streaming transports, by the end of their type. */
  readonly deltas?: readonly (readonly [type: string, delta: string])[];
}

/** A finished function call as `toMatchObject` wants it. */
export const call = (more: object): object => ({ type: 'function_call', status: 'completed', ...more });
const customCall = (more: object): object => ({ type: 'custom_tool_call', status: 'completed', ...more });
const thought = (text: string): object => ({ type: 'reasoning', summary: [{ type: 'summary_text', text }] });
const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'antiphon' } };

/** The answers of the table. */
export const ANSWERS: readonly ScriptedAnswer[] = [
  {
    name: 'a text, token by token',
    turn: { text: 'Hello there, friend.' },
    expected: {
      status: 'completed',
      output: [message(outputText('Hello there, friend.'))],
      usage: { output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 } },
    },
    deltas: ['Hello', ' there', ',', ' friend', '.'].map((delta) => ['output_text', delta]),
  },
  {
    name: 'a text in deltas of its own',
    turn: { text: ['Hel', 'lo 👩‍👩', '‍👧', ' there'] },
    expected: { output: [message(outputText('Hello 👩‍👩‍👧 there'))] },
    deltas: ['Hel', 'lo 👩‍👩', '‍👧', ' there'].map((delta) => ['output_text', delta]),
  },
  {
    name: 'calls of functions with an id and without one, with arguments and without',
    turn: {
      calls: [
        { name: 'get_weather', call_id: 'call_mine', arguments: { city: 'Lisbon', days: [1, 2], 'ü"': null } },
        { name: 'get_time' },
        { name: 'broken', arguments: '{"city": "Lis' },
        { name: 'look', namespace: 'maps', arguments: {} },
      ],
    },
    expected: {
      output: [
        call({
          name: 'get_weather',
          call_id: 'call_mine',
          arguments: '{"city":"Lisbon","days":[1,2],"ü\\"":null}',
        }),
        call({ name: 'get_time', call_id: expect.stringMatching(/^call_./), arguments: '{}' }),
        call({ name: 'broken', arguments: '{"city": "Lis' }),
        call({ name: 'look', namespace: 'maps', arguments: '{}' }),
      ],
    },
  },
  {
    name: 'calls of custom tools',
    turn: {
      calls: [
        { name: 'run', input: 'ls -l\n', call_id: 'call_run' },
        { name: 'patch', namespace: 'editor', input: '' },
      ],
    },
    expected: {
      output: [
        customCall({ name: 'run', call_id: 'call_run', input: 'ls -l\n' }),
        customCall({ name: 'patch', namespace: 'editor', input: '' }),
      ],
    },
  },
  {
    name: 'steps in any mixture',
    body: { reasoning: { summary: 'auto' } },
    turn: {
      steps: [
        { text: ['Let me ', 'look.'] },
        { call: { name: 'look', arguments: '{}' } },
        { reasoning: ['Hm, ', 'so.'] },
        { text: ['There: '] },
        { text: ['sunny.'] },
        { refusal: ['No ', 'more.'] },
        { call: { name: 'run', input: 'date' } },
      ],
    },
    expected: {
      status: 'completed',
      output: [
        message(outputText('Let me look.')),
        call({ name: 'look', arguments: '{}' }),
        thought('Hm, so.'),
        message(outputText('There: sunny.'), { type: 'refusal', refusal: 'No more.' }),
        customCall({ name: 'run', input: 'date' }),
      ],
    },
    deltas: [
      ['output_text', 'Let me '],
      ['output_text', 'look.'],
      ['function_call_arguments', '{}'],
      ['reasoning_summary_text', 'Hm, '],
      ['reasoning_summary_text', 'so.'],
      ['output_text', 'There: '],
      ['output_text', 'sunny.'],
      ['refusal', 'No '],
      ['refusal', 'more.'],
      ['custom_tool_call_input', 'date'],
    ],
  },
  {
    name: 'the short members in the order of their list, then the steps',
    body: { reasoning: { summary: 'auto' } },
    turn: {
      steps: [{ text: ['Last.'] }],
      calls: [{ name: 'look' }],
      text: ['Second.'],
      reasoning: ['First.'],
    },
    expected: {
      output: [thought('First.'), message(outputText('Second.')), call({ name: 'look' }), message(outputText('Last.'))],
      usage: { output_tokens_details: { reasoning_tokens: 2 } },
    },
  },
  {
    name: 'reasoning without a summary where nobody asks for one',
    turn: { reasoning: ['First.'], text: ['Second.'] },
    expected: {
      output: [{ type: 'reasoning', summary: [] }, message(outputText('Second.'))],
      usage: { output_tokens: 4, output_tokens_details: { reasoning_tokens: 2 } },
    },
    deltas: [['output_text', 'Second.']],
  },
  {
    name: 'what a provider yields, as it is',
    turn: {
      steps: [
        { text: ['Ours.'] },
        {
          events: [
            { type: 'reasoning', delta: 'raw' },
            { type: 'item.open', key: 's', item: { ...search, status: 'in_progress' } },
            { type: 'item.close', key: 's', item: search },
            { type: 'text', delta: 'Theirs.' },
            { type: 'usage', input: 21, cached: 8, output: 13, reasoning: 5 },
            { type: 'finish', reason: 'content_filter' },
          ],
        },
      ],
    },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [
        message(outputText('Ours.')),
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'raw' }] },
        search,
        message(outputText('Theirs.')),
      ],
      usage: {
        input_tokens: 21,
        input_tokens_details: { cached_tokens: 8 },
        output_tokens: 13,
        output_tokens_details: { reasoning_tokens: 5 },
      },
    },
  },
  ...(['length', 'content_filter'] as const).map((finish) => ({
    name: `an end of its own: ${finish}`,
    turn: { text: 'Once upon', finish },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: finish === 'length' ? 'max_output_tokens' : finish },
      output: [{ status: 'incomplete', content: [outputText('Once upon')] }],
    },
  })),
  {
    name: 'nothing at all',
    turn: { text: '' },
    expected: { status: 'completed', output: [], usage: { output_tokens: 0 } },
  },
  {
    name: 'a text with log probabilities for a client that wants them',
    turn: { text: ['Hi'] },
    body: { include: ['message.output_text.logprobs'], top_logprobs: 1 },
    expected: {
      output: [message({ logprobs: [{ token: 'Hi', bytes: [72, 105], top_logprobs: [{ token: 'Hi' }] }] })],
    },
  },
];
