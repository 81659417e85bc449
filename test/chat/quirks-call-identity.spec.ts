import { describe, expect, it } from '@jest/globals';

import { callChunk, chunk, completion, entry, finish, type StreamData, streamOf } from './chunk-stream.js';
import { callIdsIn, saidIn } from '../support/output.js';
import { MODEL, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import type { Refusal } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

/** One name is the beginning of another. */
const tools = ['look', 'look_up', 'ring'].map((name) => ({
  type: 'function',
  name,
  parameters: { type: 'object' },
  strict: false,
}));

/** A piece of arguments. */
const piece = (json: string, members: object = {}): object => entry(undefined, json, members);
const TIMES = '{"times":3}';
const RUNG = { call: 'ring', arguments: TIMES };
const LOOKED = { call: 'look', arguments: '{}' };

const CASES: readonly (readonly [what: string, data: readonly StreamData[], said: readonly object[]])[] = [
  [
    'entries of an array, the first without arguments',
    [callChunk([entry('look', ''), entry('ring', TIMES)])],
    [LOOKED, RUNG],
  ],
  [
    'entries of an array, all with index 0',
    [callChunk([entry('look', '', { index: 0 }), entry('ring', TIMES, { index: 0 })])],
    [LOOKED, RUNG],
  ],
  [
    'entries of an array, of the same function',
    [callChunk([entry('ring', ''), entry('ring', TIMES)])],
    [{ call: 'ring', arguments: '{}' }, RUNG],
  ],
  [
    'entries of arrays in the same order',
    [
      callChunk([entry('ring', ''), entry('look', '')]),
      callChunk([piece('{"times"'), piece('{"at"')]),
      callChunk([piece(':3}'), piece(':1}')]),
    ],
    [RUNG, { call: 'look', arguments: '{"at":1}' }],
  ],
  [
    'a call without arguments and another one, all with index 0',
    [callChunk([entry('ring', '', { index: 0 })]), callChunk([entry('look', '{"at":1}', { index: 0 })])],
    [
      { call: 'ring', arguments: '{}' },
      { call: 'look', arguments: '{"at":1}' },
    ],
  ],
  [
    'indexes as text',
    [
      callChunk([entry('look', '', { index: '0' }), entry('ring', '', { index: '1' })]),
      callChunk([piece('{}', { index: '0' })]),
      callChunk([piece(TIMES, { index: '1' })]),
    ],
    [LOOKED, RUNG],
  ],
  [
    'indexes that start at one, interleaved',
    [
      callChunk([entry('look', '', { index: 1 })]),
      callChunk([entry('ring', '{"times"', { index: 2 })]),
      callChunk([piece('{"at":1}', { index: 1 })]),
      callChunk([piece(':3}', { index: 2 })]),
    ],
    [{ call: 'look', arguments: '{"at":1}' }, RUNG],
  ],
  [
    'ids without indexes, alternating, with the names at the end',
    [
      callChunk([piece('{"times"', { id: 'a' })]),
      callChunk([piece('{"at"', { id: 'b' })]),
      callChunk([entry('ring', ':3}', { id: 'a' })]),
      callChunk([entry('look', ':1}', { id: 'b' })]),
    ],
    [RUNG, { call: 'look', arguments: '{"at":1}' }],
  ],
  [
    'an empty object before the arguments',
    [
      callChunk([entry('ring', '{}', { index: 0, id: 'a' })]),
      callChunk([piece('{"times"', { index: 0 })]),
      callChunk([piece(':3}', { index: 0 })]),
    ],
    [RUNG],
  ],
  [
    'an empty object as such before the arguments',
    [callChunk([entry('ring', {}, { index: 0, id: 'a' })]), callChunk([piece(TIMES, { index: 0 })])],
    [RUNG],
  ],
  [
    'an empty object before the arguments, with name and id in each piece',
    [
      callChunk([entry('ring', '{}', { id: 'a' })]),
      callChunk([entry('ring', '{"times"', { id: 'a' })]),
      callChunk([entry('ring', ':3}', { id: 'a' })]),
    ],
    [RUNG],
  ],
  [
    'an index for each piece',
    [
      callChunk([entry('ring', '', { index: 0, id: 'a' })]),
      callChunk([piece('{"times"', { index: 1 })]),
      callChunk([piece(':3}', { index: 2 })]),
    ],
    [RUNG],
  ],
  [
    'an index for each piece, of two calls',
    [
      callChunk([entry('ring', '{"times"', { index: 0, id: 'a' })]),
      callChunk([piece(':3}', { index: 1 })]),
      callChunk([entry('look', '{"at"', { index: 1, id: 'b' })]),
      callChunk([piece(':1}', { index: 2 })]),
    ],
    [RUNG, { call: 'look', arguments: '{"at":1}' }],
  ],
  [
    'arguments as JSON within a string',
    [
      callChunk([entry('ring', '"{\\"tim', { index: 0, id: 'a' })]),
      callChunk([piece('es\\":3}"', { index: 0 })]),
      callChunk([entry('look', JSON.stringify('{"at":1}'), { index: 1, id: 'b' })]),
    ],
    [RUNG, { call: 'look', arguments: '{"at":1}' }],
  ],
  [
    'arguments as JSON within a string, of two calls with one index',
    [
      callChunk([entry('ring', JSON.stringify(TIMES), { index: 0 })]),
      callChunk([entry('ring', JSON.stringify(TIMES), { index: 0 })]),
    ],
    [RUNG, RUNG],
  ],
  [
    'arguments that are a string of something else',
    [callChunk([entry('look', '"around"', { index: 0, id: 'a' })])],
    [{ call: 'look', arguments: '"around"' }],
  ],
  [
    'the members of the function in the entry',
    [
      callChunk([{ index: 0, id: 'a', name: 'ring', arguments: '{"times"' }]),
      callChunk([{ index: 0, arguments: ':3}' }]),
    ],
    [RUNG],
  ],
  [
    'the members of the function in the entry, as tool_use',
    [callChunk([{ id: 'a', name: 'ring', input: { times: 3 } }])],
    [RUNG],
  ],
  ['a null function', [callChunk([{ id: 'a', function: null, name: 'ring', arguments: TIMES }])], [RUNG]],
  ['a custom tool', [callChunk([{ id: 'a', type: 'custom', custom: { name: 'ring', input: TIMES } }])], [RUNG]],
  [
    'parameters for arguments',
    [callChunk([{ id: 'a', function: { name: 'ring', parameters: { times: 3 } } }])],
    [RUNG],
  ],
  ['arguments that are a list', [callChunk([entry('look', [1], { id: 'a' })])], [{ call: 'look', arguments: '[1]' }]],
  ['arguments that are a number', [callChunk([entry('look', 5, { id: 'a' })])], [{ call: 'look', arguments: '5' }]],
  ['one entry in place of a list', [chunk({ tool_calls: entry('ring', TIMES, { id: 'a' }) })], [RUNG]],
  ['a list as text', [chunk({ tool_calls: JSON.stringify([entry('ring', TIMES, { id: 'a' })]) })], [RUNG]],
  ['an entry named tool_call', [chunk({ tool_call: entry('ring', TIMES, { id: 'a' }) })], [RUNG]],
  ['a list beside the delta', [chunk({}, { tool_calls: [entry('ring', TIMES, { id: 'a' })] })], [RUNG]],
  [
    'indexes alone, before the first call is complete and with the second name at the end',
    [
      callChunk([entry('ring', '{"times"', { index: 0, id: 'a' })]),
      callChunk([piece('{"at"', { index: 1 })]),
      callChunk([piece(':3}', { index: 0 })]),
      callChunk([entry('look', ':1}', { index: 1, id: 'b' })]),
    ],
    [RUNG, { call: 'look', arguments: '{"at":1}' }],
  ],
  [
    'an index for each piece, of which some begin with a brace',
    [
      callChunk([entry('look', '{"a":', { index: 0, id: 'a' })]),
      callChunk([piece('{"b":"', { index: 1 })]),
      callChunk([piece('{ \\" }', { index: 2 })]),
      callChunk([piece('"}}', { index: 3 })]),
    ],
    [{ call: 'look', arguments: '{"a":{"b":"{ \\" }"}}' }],
  ],
  ['an empty object and nothing else', [callChunk([entry('look', '{}', { index: 0 })])], [LOOKED]],
  [
    'an empty object in two pieces',
    [callChunk([entry('look', '{', { index: 0 })]), callChunk([piece('}', { index: 0 })])],
    [LOOKED],
  ],
  [
    'two calls without arguments',
    [callChunk([entry('look', '{}', { index: 0 })]), callChunk([entry('look', '{}', { index: 0 })])],
    [LOOKED, LOOKED],
  ],
];

describe('pieces of calls', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(CASES)('pieces of calls are joined by identity: %s', async (_, data, said) => {
      service.upstream.replay(streamOf([...data, finish('tool_calls')]));
      const { response } = await transport.run(service, { model: MODEL, input: 'Go on.', tools });
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(said);
      expect(callIdsIn(response)).toHaveLength(said.length);
    });
  });

  it('pieces of calls are joined by identity in a JSON document too', async () => {
    service.upstream.replay(JSON.stringify(completion({ tool_calls: [entry('look', ''), entry('ring', TIMES)] })));
    const { response } = await sendTurn(service, { tools });
    expect(saidIn(response)).toEqual([LOOKED, RUNG]);
  });

  it.each<[string, readonly StreamData[]]>([
    ['no call', []],
    ['a text', [chunk({ content: 'Ringing.' })]],
    ['a call without a name', [callChunk([piece(TIMES, { index: 0, id: 'a' })])]],
    ['an empty entry', [callChunk([{}])]],
    [
      'a second call without a name',
      [callChunk([entry('ring', '{"times"', { index: 0, id: 'a' })]), callChunk([piece('{"at":1}', { index: 1 })])],
    ],
  ])('pieces of calls must make a call where the finish reason says so: %s', async (_, data) => {
    service.upstream.replay(streamOf([...data, finish('tool_calls')]));
    const error = await sendTurn(service, { tools }).then(
      ({ response }) => response['error'],
      (refusal: unknown) => (refusal as Refusal).error,
    );
    expect(error).toMatchObject({ code: 'server_error' });
  });
});
