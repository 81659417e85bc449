import { describe, expect, it } from '@jest/globals';
import type { InputItem } from '../../protocol/index.js';
import { validateCreateRequest } from './index.js';

const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is the weather?' }] };
const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { city: { type: ['string', 'null'] } },
  required: ['city'],
  additionalProperties: false,
};
const picture = 'data:image/png;base64,iVBORw0KGgo=';
const weather = { type: 'function', name: 'get_weather', description: 'Weather', parameters: schema, strict: false };

/** What Codex 0.169 sends. */
const codex = {
  model: 'gpt-5.5',
  stream: true,
  service_tier: 'priority',
  input: [
    { type: 'function_call_output', id: 'fco_1', name: 'goal_objective', namespace: 'agent', output: 'careful' },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are Codex.' }] },
    { ...user, id: 'msg_1', internal_chat_message_metadata_passthrough: { a: 1 } },
    { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: picture, detail: 'original' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_audio', audio_url: 'data:' }] },
    { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'gAAA' },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }], encrypted_content: null },
    {
      type: 'message',
      id: 'msg_2',
      role: 'assistant',
      status: 'completed',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'Looking', annotations: [] }],
    },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'exec_command',
      arguments: '{}',
      status: 'completed',
    },
    { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: [{ type: 'input_text', text: 'ok' }] },
    {
      type: 'custom_tool_call',
      id: 'ctc_1',
      call_id: 'call_2',
      name: 'apply_patch',
      input: '*** Begin',
      status: 'completed',
    },
    {
      type: 'custom_tool_call_output',
      id: 'ctco_1',
      call_id: 'call_2',
      output: [{ type: 'input_text', text: 'done' }],
    },
    {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'call_3',
      action: { type: 'exec', command: ['ls'] },
      status: 'completed',
    },
    { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' },
    { type: 'tool_search_call', call_id: 'call_4', execution: 'client', arguments: {} },
    { type: 'tool_search_output', call_id: 'call_4', execution: 'client', tools: [weather] },
    { type: 'additional_tools', id: 'at_1', role: 'developer', tools: [weather] },
    { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' },
    { type: 'compaction_summary', encrypted_content: 'gAAA' },
    { type: 'context_compaction' },
    { type: 'agent_message', content: [{ type: 'encrypted', data: 'x' }] },
    { type: 'configuration_update', reasoning: { effort: 'high' } },
  ],
  tools: [
    weather,
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: x' } },
    { type: 'tool_search', execution: 'client', description: 'Search', parameters: schema },
    { type: 'web_search', external_web_access: true, search_content_types: ['text', 'image'] },
    {
      type: 'namespace',
      name: 'multi_agent_v1',
      description: 'Agents',
      tools: [weather, { type: 'custom', name: 'exec' }],
    },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'low', context: 'all_turns', summary: 'auto' },
  store: false,
  stream_options: { reasoning_summary_delivery: 'sequential' },
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0199a1b2-0000-7000-8000-000000000000',
  text: { verbosity: 'low', format: { type: 'json_schema', strict: true, name: 'codex_output_schema', schema } },
  client_metadata: { session_id: 's', 'x-codex-turn-metadata': '{}' },
};

/** What the Agents SDK sends in the second turn of a run. */
const agentsSdk = {
  model: 'gpt-5',
  instructions: 'Be brief.',
  input: [
    { role: 'user', content: 'What is the weather?' },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"city":"Bonn"}',
      status: 'completed',
    },
    { type: 'function_call_output', id: undefined, call_id: 'call_1', output: 'sunny', status: undefined },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Sunny' }],
    },
  ],
  include: [],
  tools: [weather, { type: 'mcp', server_label: 'docs', server_url: 'https://example.com', require_approval: 'never' }],
  tool_choice: { type: 'function', name: 'get_weather' },
  parallel_tool_calls: undefined,
  truncation: 'auto',
  stream: true,
  store: true,
  text: { format: { type: 'text' } },
  prompt_cache_retention: 'in_memory',
};

/** What LangChain 1.6 sends: assistant output without status and annotations. */
const langChain = {
  model: 'gpt-4o',
  temperature: 0.5,
  top_p: 1,
  stream: false,
  input: [
    { type: 'message', role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'Hello' }] },
    { role: 'assistant', content: 'As a plain string' },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'function_call', name: 'get_weather', arguments: '{}', call_id: 'call_1' },
    { type: 'function_call_output', call_id: 'call_1', output: '[]' },
  ],
  tools: [weather],
  tool_choice: 'required',
  user: 'somebody',
  metadata: { run: '1' },
};

/** What the AI SDK 7 sends; its `open-responses` provider leaves `store` and `previous_response_id` out. */
const aiSdk = {
  model: 'gpt-5-mini',
  input: [
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Read' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      ],
    },
    { role: 'assistant', content: [{ type: 'output_text', text: 'Read.' }], id: 'msg_1', phase: null },
    { type: 'reasoning', id: 'rs_1', encrypted_content: null, summary: [{ type: 'summary_text', text: 'x' }] },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_image', image_url: picture },
        { type: 'input_file', file_url: 'https://example.com/a' },
      ],
    },
  ],
  max_output_tokens: 1000,
  text: { format: { type: 'json_schema', strict: true, name: 'response', schema }, verbosity: 'medium' },
  tool_choice: 'none',
  tools: [],
  top_logprobs: 5,
  include: ['message.output_text.logprobs', 'web_search_call.action.sources'],
};

const stateful = { model: 'm', previous_response_id: 'resp_0199a1b2', input: [], store: true, instructions: null };
const plain = { model: 'm', input: 'Hi' };

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

describe('what real clients send', () => {
  const bodies: [string, object][] = Object.entries({ codex, agentsSdk, langChain, aiSdk, stateful, plain });

  it.each(bodies)('the body of a real client is accepted and handed back as it is: %s', (_, body) => {
    const frozen = deepFreeze(structuredClone(body));
    expect(validateCreateRequest(frozen, { unknownParameters: 'reject' })).toBe(frozen);
    expect(validateCreateRequest(frozen, { unknownParameters: 'ignore' })).toBe(frozen);
    expect(frozen).toEqual(body);
  });

  it('the body of a real client has no violation in any single item either', () => {
    for (const item of [...codex.input, ...agentsSdk.input, ...langChain.input, ...aiSdk.input] as InputItem[]) {
      expect(() => validateCreateRequest({ model: 'm', input: [item] }, { unknownParameters: 'reject' })).not.toThrow();
    }
  });
});
