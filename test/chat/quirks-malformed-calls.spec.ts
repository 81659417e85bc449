import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { callChunk, chunk, entry, finish, streamOf } from './chunk-stream.js';
import { type ChatService, MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { SSE_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const tools = [
  { type: 'function', name: 'ring', parameters: { type: 'object' }, strict: false },
  { type: 'custom', name: 'run' },
  { type: 'apply_patch' },
];

/** A stream with one call, whose arguments come in pieces. */
const calling = (name: string, ...pieces: readonly string[]): string =>
  streamOf([
    chunk({ content: 'One moment.' }),
    callChunk([entry('ring', '{"times":1}', { index: 0, id: 'call_whole' })]),
    callChunk([entry(name, '', { index: 1, id: 'call_last' })]),
    ...pieces.map((piece) => callChunk([{ index: 1, function: { arguments: piece } }])),
    finish('tool_calls'),
  ]);

const SAID = [
  { type: 'message', status: 'completed', content: [{ text: 'One moment.' }] },
  { type: 'function_call', status: 'completed', arguments: '{"times":1}' },
];

const MALFORMED: readonly (readonly [name: string, pieces: readonly string[], item: object])[] = [
  ['run', ['{"input":"mv /data '], { type: 'custom_tool_call', input: 'mv /data ' }],
  ['run', ['{"input":"mv ', '/data"'], { type: 'custom_tool_call', input: 'mv /data' }],
  ['run', ['{"input":"mv \\'], { type: 'custom_tool_call', input: 'mv ' }],
  ['run', ['{"input":"mv"}', ' and more'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"input":"mv","input":"cp"}'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"input":"mv",', '"why"'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"patch":"mv /data'], { type: 'custom_tool_call', input: '{"patch":"mv /data' }],
  ['ring', ['nul'], { type: 'function_call', arguments: 'nul' }],
  ['run', ['{"inp'], { type: 'custom_tool_call', input: '{"inp' }],
  ['run', ['{"why":"so","input":"mv'], { type: 'custom_tool_call', input: '{"why":"so","input":"mv' }],
  ['ring', ['{"times":'], { type: 'function_call', arguments: '{"times":' }],
  ['ring', ['{"times":2}', '}'], { type: 'function_call', arguments: '{"times":2}}' }],
  ['ring', ['twice'], { type: 'function_call', arguments: 'twice' }],
  ['apply_patch', ['{"type":"delete_file","path":"/da'], { type: 'function_call', name: 'apply_patch' }],
];

const WHOLE: readonly (readonly [name: string, pieces: readonly string[], item: object])[] = [
  ['run', ['{"input":"mv"', ' }\n'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"input":"mv","why":', '"so"}'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"input":"mv\ncp"}'], { type: 'custom_tool_call', input: 'mv\ncp' }],
  ['run', ['{ mv; cp }'], { type: 'custom_tool_call', input: '{ mv; cp }' }],
  ['run', ['"mv"'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"patch":"mv', '"}'], { type: 'custom_tool_call', input: 'mv' }],
  ['run', ['{"patch":"mv\ncp"}'], { type: 'custom_tool_call', input: 'mv\ncp' }],
  ['run', ['{"patch":"mv","why":"so"}'], { type: 'custom_tool_call', input: '{"patch":"mv","why":"so"}' }],
  ['run', ['null and void'], { type: 'custom_tool_call', input: 'null and void' }],
  ['run', ['nu', 'll'], { type: 'custom_tool_call', input: '' }],
  ['ring', [], { type: 'function_call', arguments: '{}' }],
  ['ring', [' '], { type: 'function_call', arguments: '{}' }],
  ['ring', ['null'], { type: 'function_call', arguments: '{}' }],
  ['ring', ['n', 'ul', 'l '], { type: 'function_call', arguments: '{}' }],
  ['ring', ['null', '{"times":2}'], { type: 'function_call', arguments: '{"times":2}' }],
  ['ring', [' {"times":2} '], { type: 'function_call', arguments: ' {"times":2} ' }],
];

describe('a malformed call', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));
  /** With clients that repair arguments. */
  let passing: ChatService;

  beforeAll(async () => {
    passing = await startChatService({ provider: { capabilities: { malformed_calls: 'pass' } } });
  });
  afterAll(() => passing.close());

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(MALFORMED)('a malformed call is never presented as complete: %s %j', async (name, pieces, item) => {
      service.upstream.replay(calling(name, ...pieces));
      const { response } = await transport.run(service, { model: MODEL, input: 'Go on.', tools });
      expect(response).toMatchObject({ status: 'incomplete', error: null });
      expect(response['output']).toMatchObject([...SAID, { ...item, call_id: 'call_last', status: 'incomplete' }]);
    });

    it.each(WHOLE)('a well-formed call is another thing than %s %j', async (name, pieces, item) => {
      service.upstream.replay(calling(name, ...pieces));
      const { response } = await transport.run(service, { model: MODEL, input: 'Go on.', tools });
      expect(response).toMatchObject({ status: 'completed', error: null });
      expect(response['output']).toMatchObject([...SAID, { ...item, call_id: 'call_last', status: 'completed' }]);
    });
  });

  it.each([
    ['ring', 'completed'],
    ['run', 'incomplete'],
  ])('a malformed call is passed on where that is wanted, if it is of a function: %s', async (name, status) => {
    passing.upstream.replay(calling(name, '{"input":"mv'));
    const { response } = await SSE_TRANSPORT.run(passing, { model: MODEL, input: 'Go on.', tools });
    expect(response.status).toBe(status);
  });
});
