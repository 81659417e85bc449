import { beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';

const TOOLS = [
  { type: 'function', name: 'exec_command', strict: false, parameters: { type: 'object', properties: {} } },
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Applies a patch.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  },
  { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
  { type: 'web_search', external_web_access: true, search_content_types: ['text'] },
  {
    type: 'namespace',
    name: 'multi_agent_v1',
    description: 'Agents.',
    tools: [{ type: 'function', name: 'spawn', strict: false, parameters: { type: 'object', properties: {} } }],
  },
];

/** What every frame of Codex has. */
const FRAME = {
  type: 'response.create',
  model: 'gpt-5.5',
  stream: true,
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '019aa6a0-0000-7000-8000-000000000000',
  text: { verbosity: 'low' },
  client_metadata: {
    session_id: '019aa6a0-0000-7000-8000-000000000000',
    'x-codex-turn-metadata': '{"request_kind":"turn"}',
    'x-codex-ws-stream-request-start-ms': '1',
  },
};

const message = (role: string, text: string): object => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
});

describe.each(['ignore', 'reject'])('what Codex sends (UNKNOWN_PARAMETERS=%s)', (unknownParameters) => {
  const service = useService({
    providers: [ScriptedProvider],
    environment: { UNKNOWN_PARAMETERS: unknownParameters },
  });

  beforeEach(() => void (service.provider.turns.length = 0));

  const open = (): Promise<SocketClient> =>
    SocketClient.open(service, {
      headers: { 'openai-beta': 'responses_websockets=2026-02-06', originator: 'codex_exec', 'session-id': 's' },
    });

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  it('Codex sends a warm-up, then only what is new, with calls of its tools between', async () => {
    await using client = await open();
    client.send({ ...FRAME, generate: false, input: [message('developer', 'Base.')], tools: TOOLS });
    const warm = (await client.finish(undefined, { warmUp: true })).response;
    expect(service.provider.turns).toHaveLength(0);

    service.provider.reply(
      { type: 'reasoning_summary', delta: 'Hm.' },
      { type: 'reasoning_encrypted', content: 'gAAAA' },
      { type: 'function_call', name: 'exec_command', callId: 'call_1' },
      { type: 'function_call_arguments', delta: '{"cmd":"ls"}' },
      { type: 'custom_tool_call', name: 'apply_patch', callId: 'call_2' },
      { type: 'custom_tool_call_input', delta: 'x' },
      { type: 'function_call', name: 'spawn', namespace: 'multi_agent_v1', callId: 'call_3' },
    );
    const user = message('user', 'List it.');
    client.send({ ...FRAME, previous_response_id: warm.id, input: [user], tools: TOOLS });
    const asked = (await client.finish()).response;
    const types = ['reasoning', 'function_call', 'custom_tool_call', 'function_call'];
    expect((asked['output'] as readonly { readonly type: string }[]).map(({ type }) => type)).toEqual(types);
    expect(service.provider.turns.at(-1)?.settings.tools).toMatchObject(TOOLS);

    const input = [
      { type: 'function_call_output', id: 'fco_019aa6a0', call_id: 'call_1', output: 'a.txt' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: 'Done.' }] },
      { type: 'function_call_output', call_id: 'call_3', output: [{ type: 'input_text', text: 'Agent 1.' }] },
    ];
    client.send({ ...FRAME, previous_response_id: asked.id, input, tools: TOOLS });
    const answered = (await client.finish()).response;
    expect(seen()).toEqual([
      'developer: Base.',
      'user: List it.',
      ...types,
      'function_call_output',
      'custom_tool_call_output',
      'function_call_output',
    ]);

    client.send({ ...FRAME, previous_response_id: answered.id, input: [], tools: TOOLS });
    await client.finish();
    expect(seen().at(-1)).toBe('assistant: ok');
  });

  it('Codex sends the whole history again, as it keeps it', async () => {
    await using client = await open();
    const input = [
      { ...message('developer', 'Base.'), id: 'msg_019aa6a0' },
      { ...message('user', 'List it.'), id: 'msg_019aa6a1' },
      { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'gAAAA' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: null },
      { type: 'function_call', id: 'fc_1', status: 'completed', call_id: 'call_1', name: 'ls', arguments: '{}' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'a.txt' },
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'apply_patch', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done.' },
      { type: 'tool_search_call', call_id: 'call_3', execution: 'client', status: 'completed', arguments: {} },
      { type: 'tool_search_output', call_id: 'call_3', execution: 'client', status: 'completed', tools: [] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
      {
        type: 'message',
        id: 'foreign-1',
        role: 'assistant',
        status: 'completed',
        phase: 'final_answer',
        content: [{ type: 'output_text', text: 'a.txt', annotations: [] }],
      },
      message('user', 'Thanks.'),
    ];
    client.send({ ...FRAME, input, tools: TOOLS });
    const { response } = await client.finish();
    expect(response).toMatchObject({ status: 'completed', previous_response_id: null, store: false });
    expect(service.provider.turns.at(-1)?.context).toMatchObject(input);
    expect(seen().slice(-2)).toEqual(['assistant: a.txt', 'user: Thanks.']);
  });

  it('Codex sends tools within the input, which stay in force along the chain', async () => {
    await using client = await open();
    const tools = [
      { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec', format: { type: 'text' } }] },
      { type: 'namespace', name: 'clock', tools: [] },
    ];
    const more = { type: 'additional_tools', id: 'at_019aa6a0', role: 'developer', tools };
    client.send({ ...FRAME, generate: false, parallel_tool_calls: false, input: [more] });
    let previous_response_id = (await client.finish(undefined, { warmUp: true })).response.id;
    for (const [turn, text] of ['One?', 'Two?', 'Three?'].entries()) {
      client.send({ ...FRAME, previous_response_id, input: [message('user', text)] });
      previous_response_id = (await client.finish()).response.id;
      expect(service.provider.turns.at(-1)?.context[0]).toMatchObject(more);
      expect(service.provider.turns.at(-1)?.context).toHaveLength(2 * turn + 2);
      expect(service.provider.turns.at(-1)?.settings.tools).toEqual([]);
    }
  });

  it('Codex is told with a status that its parent is gone, so that it sends everything again', async () => {
    await using client = await open();
    client.send({ ...FRAME, previous_response_id: 'resp_of_another_socket', input: [] });
    expect(await client.next()).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found' },
      headers: { 'x-request-id': expect.stringMatching(/^req_/) },
    });
  });
});
