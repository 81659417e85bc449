import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { ChatAnswers } from '../support/chat-upstream/chat-answer.js';
import { SocketClient } from '../support/socket-client.js';
import { readCalls } from './call-groups.js';
import { functionsOf, Translation } from '../support/translation/translation.js';
import { itemsOf, type Members } from '../support/output.js';
import { user } from '../support/translation/user-items.js';

const GRAMMAR = 'start: begin_patch hunk+ end_patch';
const PATCH = '*** Begin Patch\n*** Update File: a.txt\n@@\n-old "text"\n+new \\ text\n*** End Patch\n';

/** What coding agents send with every turn: nothing is stored, and everything is replayed. */
const SETTINGS = {
  store: false,
  include: ['reasoning.encrypted_content'],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium' },
  prompt_cache_key: 'a-session',
  client_metadata: { session_id: 'a-session' },
  text: { verbosity: 'low' },
  tools: [
    {
      type: 'function',
      name: 'exec_command',
      description: 'Runs a command.',
      strict: false,
      parameters: { type: 'object', properties: { cmd: { type: 'string' } } },
    },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Applies a patch.',
      format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR },
    },
    {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds tools.',
      parameters: { type: 'object', properties: { query: { type: 'string' } } },
    },
    { type: 'web_search', external_web_access: true },
    {
      type: 'namespace',
      name: 'multi_agent_v1',
      description: 'Agents.',
      tools: [{ type: 'function', name: 'spawn', strict: false, parameters: { type: 'object' } }],
    },
  ],
};

const BEGINNING = [
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are a coding agent.' }] },
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Sandbox: none.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: '<environment>' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Mend a.txt.' }] },
];

const ANSWERS: readonly ChatAnswers[] = [
  {
    reasoning: 'I have to read it first.',
    text: 'Reading.',
    toolCalls: [
      { name: 'exec_command', id: 'call_a', arguments: ['{"cmd":', '"cat a.txt"}'] },
      { name: 'tool_search', id: 'call_b', arguments: '{"query":"calendar"}' },
    ],
  },
  {
    reasoning: 'Now the patch.',
    toolCalls: [
      { name: 'apply_patch', id: 'call_c', arguments: JSON.stringify({ input: PATCH }).match(/[^]{1,9}/g) ?? [] },
    ],
  },
  {
    reasoning: 'Done?',
    toolCalls: [
      { name: 'multi_agent_v1__spawn', id: 'call_d', arguments: '{}' },
      { name: 'calendar__add', id: 'call_e', arguments: '{"day":1}' },
    ],
  },
  { text: 'All done.' },
];

const FOUND = {
  type: 'namespace',
  name: 'calendar',
  description: 'Dates.',
  tools: [{ type: 'function', name: 'add', strict: false, parameters: { type: 'object' }, defer_loading: true }],
};

/** What the agent's tools give back. */
function answerCall({ type, call_id: callId }: Members): object {
  if (type === 'tool_search_call')
    return { type: 'tool_search_output', call_id: callId, execution: 'client', status: 'completed', tools: [FOUND] };
  if (type === 'custom_tool_call')
    return { type: 'custom_tool_call_output', call_id: callId, output: [{ type: 'input_text', text: 'Patched.' }] };
  return { type: 'function_call_output', call_id: callId, output: `output of ${String(callId)}` };
}

/** Reasoning is replayed without what it says in the open. */
function replay(item: Members): object {
  return item['type'] === 'reasoning' ? { ...item, content: null } : item;
}

const isCall = ({ type }: Members): boolean => String(type).endsWith('_call');

describe('a coding agent with an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({ vllm: { dialect: 'vllm' }, mistral: { dialect: 'mistral' } });
  });

  afterAll(() => translation.close());

  /** What the upstream must have been told at the end, whoever remembered the conversation. */
  function expectWholeSession(messages: readonly Members[]): void {
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'tool',
    ]);
    expect(messages[0]?.['content']).toBe('You are a coding agent.\n\nSandbox: none.');
    expect(messages[3]).toMatchObject({ content: 'Reading.', reasoning: 'I have to read it first.' });
    expect(messages[6]).toMatchObject({ content: null, reasoning: 'Now the patch.' });
    const calls = readCalls(messages);
    expect(calls.map(({ id, name, arguments: json }) => [id, name, JSON.parse(json) as unknown])).toEqual([
      ['call_a', 'exec_command', { cmd: 'cat a.txt' }],
      ['call_b', 'tool_search', { query: 'calendar' }],
      ['call_c', 'apply_patch', { input: PATCH }],
      ['call_d', 'multi_agent_v1__spawn', {}],
      ['call_e', 'calendar__add', { day: 1 }],
    ]);
    expect(calls.map(({ output }) => output)).toEqual([
      'output of call_a',
      expect.stringContaining('calendar__add'),
      'Patched.',
      'output of call_d',
      'output of call_e',
    ]);
  }

  it('a coding agent replays everything over HTTP', async () => {
    const input: object[] = [...BEGINNING];
    let messages: readonly Members[] = [];
    for (const answer of ANSWERS) {
      const { response, body } = await translation.turn({ model: 'vllm', ...SETTINGS, input }, answer);
      messages = body.messages ?? [];
      expect(response.status).toBe('completed');
      const items = itemsOf(response);
      input.push(...items.map(replay), ...items.filter(isCall).map(answerCall));
    }
    expectWholeSession(messages);
    const body = translation.upstream.requests.at(-1)?.body ?? {};
    expect(functionsOf(body).map(({ name }) => name)).toEqual([
      'exec_command',
      'apply_patch',
      'tool_search',
      'multi_agent_v1__spawn',
      'calendar__add',
    ]);
    expect(body).toMatchObject({
      reasoning_effort: 'medium',
      parallel_tool_calls: true,
      tool_choice: 'auto',
    });
    expect(JSON.stringify(body)).not.toMatch(/client_metadata|prompt_cache_key|encrypted_content|web_search/);
  });

  it('a coding agent sends only what is new over a socket', async () => {
    await using socket = await SocketClient.open(translation.service);
    const { response: warmUp } = await socket.warmUp({ model: 'vllm', ...SETTINGS, input: BEGINNING.slice(0, 3) });
    let parent = warmUp.id;
    let input: readonly object[] = BEGINNING.slice(3);
    for (const answer of ANSWERS) {
      translation.upstream.answer(answer);
      const { response } = await socket.turn({ model: 'vllm', ...SETTINGS, previous_response_id: parent, input });
      expect(response.status).toBe('completed');
      parent = response.id;
      input = itemsOf(response).filter(isCall).map(answerCall);
    }
    expectWholeSession(translation.upstream.requests.at(-1)?.body.messages ?? []);
  });

  it('a coding agent may change its model in the middle', async () => {
    const first = await translation.turn({ model: 'vllm', ...SETTINGS, input: BEGINNING }, ANSWERS[0]);
    const items = itemsOf(first.response);
    const input = [...BEGINNING, ...items.map(replay), ...items.filter(isCall).map(answerCall), user('Go on.')];
    const { body } = await translation.turn({ model: 'mistral', ...SETTINGS, input }, { text: 'Well.' });
    const calls = readCalls(body.messages ?? []);
    expect(calls).toHaveLength(2);
    for (const { id } of calls) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(JSON.stringify(body)).not.toContain('I have to read it first.');
    expect(body).not.toHaveProperty('verbosity');
    expect(body).not.toHaveProperty('reasoning_effort');
  });
});
