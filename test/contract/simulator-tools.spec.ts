import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { type Service, startService } from '../support/service.js';
import type { Transport, WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

/** A call as the model made it. */
interface SimulatedCall {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string;
  /** Of a function, JSON. */
  readonly arguments?: string;
  /** Of a custom tool. */
  readonly input?: string;
}

/** Runs a turn with what would be the header `x-simulate` on HTTP, which no message on a socket has. */
async function simulate(transport: Transport, service: Service, control: string, body: object): Promise<WireResponse> {
  const metadata = control === '' ? {} : { client_metadata: { 'x-simulate': control } };
  const { response } = await transport.run(service, { model: 'gpt-4.1', input: 'Go on.', ...metadata, ...body });
  return response;
}

/** The types of a response's items, in order. */
function listItemTypes({ output }: WireResponse): readonly string[] {
  return (output as readonly { readonly type: string }[]).map(({ type }) => type);
}

/** The calls of a response, in order. */
function listCalls({ output }: WireResponse): readonly SimulatedCall[] {
  return (output as readonly SimulatedCall[]).filter(({ type }) => /^(function|custom_tool)_call$/.test(type));
}

/** The names of the tools that a response calls, `namespace.name` where there is one; `text` where it has none. */
function tellCalls(response: WireResponse): string {
  const names = listCalls(response).map(({ name, namespace }) => [namespace, name].filter(Boolean).join('.'));
  return names.join(', ') || 'text';
}

/** What a client answers calls with. */
function answerCalls(response: WireResponse): readonly object[] {
  return listCalls(response).map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: 'Done.' }));
}

const parameters = {
  type: 'object',
  properties: { place: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
};
const look = { type: 'function', name: 'look', description: 'Looks.', parameters, strict: true, output_schema: null };
const jot = { type: 'custom', name: 'jot', description: 'Takes notes.', format: { type: 'text' } };
const crm = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers.',
  tools: [
    { type: 'function', name: 'find', description: 'Finds.', parameters, strict: true },
    { type: 'custom', name: 'memo' },
  ],
};
const mcp = { type: 'mcp', server_label: 'wiki', server_url: 'https://example.com/mcp', require_approval: 'never' };

/** Tools that the model's side runs: the simulator takes them and leaves them alone, unless a request demands one. */
const HOSTED: readonly { readonly type: string; readonly [member: string]: unknown }[] = [
  { type: 'web_search', search_context_size: 'low', filters: { allowed_domains: ['example.com'] } },
  { type: 'web_search_2025_08_26' },
  { type: 'web_search_preview', user_location: { type: 'approximate', country: 'PT' } },
  { type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 3 },
  { type: 'code_interpreter', container: { type: 'auto', file_ids: [] } },
  mcp,
  { type: 'image_generation', model: 'gpt-image-1', size: '1024x1024', partial_images: 2 },
  { type: 'computer' },
  { type: 'computer_use_preview', environment: 'browser', display_width: 800, display_height: 600 },
  { type: 'shell', environment: { type: 'container_auto' } },
  { type: 'programmatic_tool_calling' },
];
/** Tools of clients that the simulator does not call either. */
const UNCALLED = [
  { type: 'local_shell' },
  { type: 'apply_patch' },
  { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
];
const CALLABLE = [look, jot, crm];
const EVERY_TOOL = [...HOSTED, ...UNCALLED, ...CALLABLE];

const allow = (mode: string, ...tools: readonly object[]) => ({ type: 'allowed_tools', mode, tools });
const nameOf = ({ type, name }: { readonly type: string; readonly name: string }) => ({ type, name });

/** A choice, and which of EVERY_TOOL it calls: the user names `look` and `memo`; `eager` models call unasked. */
const CHOICES: readonly (readonly [name: string, choice: unknown, eager: string, reluctant: string])[] = [
  ['none', 'none', 'text', 'text'],
  ['auto', 'auto', 'look, crm.memo', 'text'],
  ['required', 'required', 'look, crm.memo', 'look, crm.memo'],
  ['one function', nameOf(look), 'look', 'look'],
  ['one custom tool', nameOf(jot), 'jot', 'jot'],
  ['a function of a namespace', { type: 'function', name: 'find' }, 'crm.find', 'crm.find'],
  ['a custom tool of a namespace', { type: 'custom', name: 'memo' }, 'crm.memo', 'crm.memo'],
  ['auto among one function', allow('auto', nameOf(look)), 'look', 'text'],
  ['auto among one custom tool', allow('auto', nameOf(jot)), 'jot', 'text'],
  ['auto among a namespace', allow('auto', nameOf(crm)), 'crm.memo', 'text'],
  ['auto among tools that it does not call', allow('auto', { type: 'web_search' }, { type: 'shell' }), 'text', 'text'],
  ['required among one function', allow('required', nameOf(look)), 'look', 'look'],
  ['required among one custom tool', allow('required', nameOf(jot)), 'jot', 'jot'],
  ['required among a namespace', allow('required', nameOf(crm)), 'crm.memo', 'crm.memo'],
  [
    'required among several',
    allow('required', { type: 'web_search' }, nameOf(jot), nameOf(look), nameOf(crm)),
    'look, crm.memo',
    'look, crm.memo',
  ],
  ...UNCALLED.map(({ type }) => [`a tool that it does not call, ${type}`, { type }, 'text', 'text'] as const),
];

/** What is asked of a response with calls, how many tools the user names in it, and how many calls it has. */
const COUNTS: readonly (readonly [name: string, control: string, named: number, settings: object, calls: number])[] = [
  ['one, whatever else is there', '', 0, {}, 1],
  ['as many as asked for', 'calls=4', 0, {}, 4],
  ['one where they must not be parallel', 'calls=4', 0, { parallel_tool_calls: false }, 1],
  ['one where they must not be parallel, though several are named', '', 3, { parallel_tool_calls: false }, 1],
  ['as many as asked for, though max_tool_calls is less', 'calls=4', 0, { max_tool_calls: 2 }, 4],
  ['one of each that is named, though max_tool_calls is less', '', 3, { max_tool_calls: 1 }, 3],
  ['one of each that is named', '', 3, {}, 3],
  ['those that are named and others', 'calls=4', 2, {}, 4],
  ['fewer than are named', 'calls=2', 3, {}, 2],
];

describe.each(TRANSPORTS)('tools of the simulator ($name)', (transport) => {
  const service = useService({ environment: { SIMULATOR_CONTROL: true } });

  const ask = (control: string, body: object): Promise<WireResponse> => simulate(transport, service, control, body);

  it.each(EVERY_TOOL)('tools of the simulator are accepted and echoed: $type', async (tool) => {
    const response = await ask('', { tools: [tool] });
    expect(response).toMatchObject({ status: 'completed', tool_choice: 'auto' });
    expect(response['tools']).toEqual([tool]);
  });

  it('tools of the simulator are echoed all together, in order', async () => {
    const { tools } = await ask('', { tools: EVERY_TOOL });
    expect(tools).toEqual(EVERY_TOOL);
  });

  it.each([...HOSTED, ...UNCALLED])(
    'tools of the simulator are left alone where others run them: $type',
    async (tool) => {
      expect(tellCalls(await ask('', { tools: [tool], input: `Use ${tool.type}.` }))).toBe('text');
    },
  );

  it.each(UNCALLED)('tools of the simulator are left alone also where a call is required: $type', async (tool) => {
    expect(tellCalls(await ask('', { tools: [tool], tool_choice: 'required' }))).toBe('text');
  });

  it.each(HOSTED)('tools of the simulator are refused where nobody runs what is demanded: $type', async (tool) => {
    const refused = { status: 400, body: { error: { code: 'unsupported_value', param: 'tool_choice' } } };
    const choices = [
      'required',
      ...(tool.type === 'shell' ? [] : [{ type: tool.type, server_label: tool['server_label'] }]),
    ];
    for (const tool_choice of choices) {
      await expect(ask('', { tools: [tool], tool_choice })).rejects.toMatchObject(refused);
    }
  });

  it('tools of the simulator are called as what they are', async () => {
    const calls = listCalls(await ask('', { tools: CALLABLE, input: 'look, jot, find, memo' }));
    const input: unknown = expect.stringMatching(/^\w+ .*\w/);
    const args: unknown = expect.stringMatching(/^\{"place":"[a-z ]+"\}$/);
    expect(calls).toEqual([
      expect.objectContaining({ type: 'function_call', name: 'look', arguments: args }),
      expect.objectContaining({ type: 'custom_tool_call', name: 'jot', input }),
      expect.objectContaining({ type: 'function_call', name: 'find', namespace: 'crm', arguments: args }),
      expect.objectContaining({ type: 'custom_tool_call', name: 'memo', namespace: 'crm', input }),
    ]);
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(4);
  });

  it('tools of the simulator are called with a parameter named __proto__ where that is required', async () => {
    const schema = '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}';
    const tool = { type: 'function', name: 'look', parameters: JSON.parse(schema) as unknown, strict: false };
    const [call] = listCalls(await ask('', { tools: [tool], tool_choice: 'required' }));
    expect(call).toMatchObject({ arguments: expect.stringMatching(/^\{"__proto__":\d+\}$/) as unknown });
  });

  it('tools of the simulator are called with an input that fits a grammar', async () => {
    const format = { type: 'grammar', syntax: 'regex', definition: '[A-Z]{3}-[0-9]{4}' };
    const [call] = listCalls(await ask('', { tools: [{ ...jot, format }] }));
    expect(call?.input).toMatch(/^[A-Z]{3}-[0-9]{4}$/);
  });

  it('tools of the simulator are called although they come with the input', async () => {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [look] },
      { role: 'user', content: 'Well?' },
    ];
    expect(tellCalls(await ask('', { input }))).toBe('look');
  });

  it.each(CHOICES)('calls obey tool_choice: %s', async (_name, tool_choice, eager, reluctant) => {
    const body = { tools: EVERY_TOOL, tool_choice, input: 'Please look, and write a memo.' };
    const response = await ask('rounds=1', body);
    expect(tellCalls(response)).toBe(eager);
    expect(response['tool_choice']).toEqual(tool_choice);
    expect(tellCalls(await ask('rounds=0', body))).toBe(reluctant);
  });

  it.each(COUNTS)(
    'tools of the simulator are called as often as they may: %s',
    async (_name, control, named, settings, expected) => {
      const names = ['jot', 'look', 'memo'].slice(0, named);
      const response = await ask(control, {
        tools: EVERY_TOOL,
        ...settings,
        input: `Please use ${names.join(' and ')}.`,
      });
      const calls = listCalls(response);
      expect(calls).toHaveLength(expected);
      expect(response['output']).toHaveLength(expected);
      // In the order of the tools.
      const first = ['look', 'jot', 'memo'].filter((name) => names.includes(name)).slice(0, expected);
      expect(calls.map(({ name }) => name).slice(0, first.length)).toEqual(first);
    },
  );

  it('tools of the simulator are called eight at once at most where a text holds more names, and more where that is asked for', async () => {
    const many = Array.from({ length: 10 }, (_, index) => ({ ...look, name: `look_${index}` }));
    const body = { tools: many, input: many.map(({ name }) => name).join(', ') };
    expect(listCalls(await ask('', body))).toHaveLength(8);
    expect(new Set(listCalls(await ask('calls=10', body)).map(({ name }) => name)).size).toBe(10);
  });

  it.each([
    ['as often as there are rounds', 'rounds=3; calls=2', 'auto', [2, 2, 2, 0]],
    ['once, as is usual', 'calls=3', 'auto', [3, 0]],
    ['without end where they are required', 'calls=3', 'required', [3, 3, 3, 3]],
  ])('calls go on when those before were answered in parallel: %s', async (_name, control, tool_choice, expected) => {
    const counts: number[] = [];
    let more: object = {};
    while (counts.length < expected.length) {
      const response = await ask(control, { tools: CALLABLE, tool_choice, ...more });
      counts.push(listCalls(response).length);
      more = { previous_response_id: response.id, input: answerCalls(response) };
    }
    expect(counts).toEqual(expected);
  });

  it('tools of the simulator are called after the reasoning', async () => {
    const response = await ask('calls=2', { model: 'o3', tools: [look] });
    expect(listItemTypes(response)).toEqual(['reasoning', 'function_call', 'function_call']);
    const next = await ask('', { model: 'o3', previous_response_id: response.id, input: answerCalls(response) });
    expect(listItemTypes(next)).toEqual(['reasoning', 'message']);
  });

  it('tools of the simulator are never called unasked where there are no rounds', async () => {
    await using reluctant = await startService({ environment: { SIMULATOR_TOOL_ROUNDS: 0 } });
    for (const model of ['gpt-4.1', 'gpt-5']) {
      const body = { model, tools: CALLABLE, input: 'Please look.' };
      expect(tellCalls(await simulate(transport, reluctant, '', body))).toBe('text');
      expect(tellCalls(await simulate(transport, reluctant, '', { ...body, tool_choice: 'required' }))).toBe('look');
    }
  });
});
