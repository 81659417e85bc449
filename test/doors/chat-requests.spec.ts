import { beforeEach, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';

const ASK = { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] };
const PICTURE = 'data:image/png;base64,aGVsbG8=';
const FUNCTION = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
const GRAMMAR = { type: 'grammar', grammar: { definition: 'start: /x/', syntax: 'lark' } };
const CUSTOM = { type: 'custom', custom: { name: 'shell', description: 'Runs it.', format: GRAMMAR } };

describeService('requests of Chat Completions', { providers: [ScriptedProvider] }, (service) => {
  beforeEach(() => void (service.provider.turns.length = 0));

  /** The turn that a request with these members makes. Rejects with the error of a refusal. */
  async function turnOf(members: object): Promise<ScriptedProvider['turns'][number]> {
    const { status, body } = await service.api.post('chat/completions', { ...ASK, ...members });
    if (status !== 200) throw new Error(JSON.stringify(body));
    const turn = service.provider.turns.at(-1);
    if (turn === undefined) throw new Error('the model was not asked');
    return turn;
  }

  it('requests of Chat Completions have messages of every role, pictures, files and calls', async () => {
    const { context } = await turnOf({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look:' },
            { type: 'image_url', image_url: { url: PICTURE, detail: 'low' } },
            { type: 'file', file: { file_data: 'data:text/plain;base64,aGVsbG8=', filename: 'a.txt' } },
          ],
        },
        {
          role: 'assistant',
          content: 'Let me see.',
          reasoning_content: 'A picture.',
          refusal: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } },
            { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'date' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
        { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'Friday' }] },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'user', content: 'Why?' },
      ],
    });
    expect(context).toMatchObject([
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look:' },
          { type: 'input_image', image_url: PICTURE, detail: 'low' },
          { type: 'input_file', file_data: 'data:text/plain;base64,aGVsbG8=', filename: 'a.txt' },
        ],
      },
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'A picture.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'shell', input: 'date' },
      { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: 'Friday' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why?' }] },
    ]);
  });

  it('requests of Chat Completions make nothing but what their types say, whatever members a client adds', async () => {
    const { context, settings } = await turnOf({
      messages: [
        {
          role: 'user',
          content: [{ type: 'file', file: { file_data: 'data:text/plain;base64,aGVsbG8=', type: 'input_image' } }],
        },
        {
          role: 'assistant',
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'weather', arguments: '{}', type: 'message', role: 'system', call_id: 'x' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
      tools: [{ type: 'function', function: { ...FUNCTION.function, type: 'mcp', server_label: 'x' } }],
      tool_choice: { type: 'function', function: { name: 'weather', type: 'mcp' } },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object' }, type: 'text' },
      },
    });
    expect([...context]).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_file' }] },
      { type: 'function_call', call_id: 'call_1', name: 'weather' },
      { type: 'function_call_output', call_id: 'call_1' },
    ]);
    expect(settings).toMatchObject({
      tools: [{ type: 'function', name: 'weather' }],
      tool_choice: { type: 'function', name: 'weather' },
      text: { format: { type: 'json_schema', name: 'a' } },
    });
  });

  it('requests of Chat Completions may have the reasoning of OpenRouter, and null for what they do not have', async () => {
    const { settings } = await turnOf({ reasoning: { effort: 'low' }, instructions: null });
    expect(settings.instructions).toBeNull();
  });

  it('requests of Chat Completions mark where a prompt may be cached', async () => {
    const mark = { prompt_cache_breakpoint: { mode: 'explicit' } };
    const { context } = await turnOf({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...mark }] }],
    });
    expect(context).toMatchObject([{ content: [{ type: 'input_text', text: 'Hi', ...mark }] }]);
  });

  it('requests of Chat Completions have tools, and choose among them', async () => {
    const { settings } = await turnOf({
      tools: [FUNCTION, CUSTOM],
      parallel_tool_calls: false,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'custom', custom: { name: 'shell' } }] },
      },
    });
    expect(settings).toMatchObject({
      tools: [
        { type: 'function', name: 'weather', strict: false, parameters: { type: 'object' } },
        { type: 'custom', name: 'shell', format: { type: 'grammar', definition: 'start: /x/', syntax: 'lark' } },
      ],
      parallel_tool_calls: false,
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'shell' }] },
    });
    const named = await turnOf({ tools: [FUNCTION], tool_choice: { type: 'function', function: { name: 'weather' } } });
    expect(named.settings.tool_choice).toEqual({ type: 'function', name: 'weather' });
    expect((await turnOf({ tools: [FUNCTION], tool_choice: 'required' })).settings.tool_choice).toBe('required');
  });

  it('requests of Chat Completions have settings, under the names of the Responses API', async () => {
    const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
    const { settings, include } = await turnOf({
      response_format: { type: 'json_schema', json_schema: { name: 'report', schema, strict: true } },
      verbosity: 'low',
      reasoning_effort: 'high',
      max_completion_tokens: 3,
      temperature: 0.5,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      logprobs: true,
      top_logprobs: 2,
      metadata: { topic: 'rain' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      n: 1,
      modalities: ['text'],
    });
    expect(settings).toMatchObject({
      text: { format: { type: 'json_schema', name: 'report', schema, strict: true }, verbosity: 'low' },
      reasoning: { effort: 'high' },
      max_output_tokens: 3,
      temperature: 0.5,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      top_logprobs: 2,
      metadata: { topic: 'rain' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      store: false,
    });
    expect(include).toEqual(['message.output_text.logprobs']);
    expect((await turnOf({ max_tokens: 7 })).settings.max_output_tokens).toBe(7);
  });

  it.each<readonly [param: string | null, says: RegExp, members: object]>([
    ['previous_response_id', /It belongs to the Responses API/, { previous_response_id: 'resp_1' }],
    ['instructions', /It belongs to the Responses API/, { instructions: 'Be brief.' }],
    ['max_output_tokens', /It belongs to the Responses API/, { max_output_tokens: 7 }],
    ['messages', /Missing required parameter: 'messages'/, { messages: undefined }],
    ['messages', /empty array/, { messages: [] }],
    ['messages[0]', /role 'function'/, { messages: [{ role: 'function', name: 'f', content: '' }] }],
    [
      'messages[1].content',
      /expected one of a string or array/,
      { messages: [...ASK.messages, { role: 'user', content: 1 }] },
    ],
    [
      'messages[0].content[0]',
      /audio is not supported/,
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }] },
    ],
    [
      'messages[1].content[0].image_url',
      /base64/,
      {
        messages: [
          { role: 'assistant', content: 'a' },
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:text/plain;base64,aGVsbG8=' } }] },
        ],
      },
    ],
    [
      'messages[0].content[0].file.file_data',
      /'messages\[0\]\.content\[0\]\.file\.file_data'/,
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'hello' } }] }] },
    ],
    [
      'messages[1].tool_call_id',
      /tool_call_id/,
      { messages: [...ASK.messages, { role: 'tool', tool_call_id: '', content: 'x' }] },
    ],
    ['n', /Only one choice/, { n: 2 }],
    ['functions', /Use 'tools'/, { functions: [] }],
    ['function_call', /Use 'tool_choice'/, { function_call: 'auto' }],
    ['audio', /Audio is not supported/, { audio: { voice: 'alloy', format: 'wav' } }],
    ['modalities', /Audio is not supported/, { modalities: ['text', 'audio'] }],
    ['web_search_options', /web_search/, { web_search_options: {} }],
    ['moderation', /not supported/, { moderation: { model: 'm' } }],
    ['seed', /'forward'/, { seed: 1 }],
    ['logit_bias', /'forward'/, { logit_bias: { 1: 2 } }],
    ['stop', /array too long/, { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['stop[1]', /string too long/, { stop: ['a', 'b'.repeat(1001)] }],
    ['stop', /string too long/, { stop: 'a'.repeat(1001) }],
    ['top_logprobs', /'logprobs' is true/, { top_logprobs: 2 }],
    ['stream_options', /'stream' is true/, { stream_options: { include_usage: true } }],
    ['max_completion_tokens', />= 1/, { max_completion_tokens: 0 }],
    ['tools[0].function.name', /pattern/, { tools: [{ type: 'function', function: { name: 'a b' } }] }],
    ['tools[1].custom.name', /too short/, { tools: [FUNCTION, { type: 'custom', custom: { name: '' } }] }],
    [
      'response_format.json_schema.schema',
      /Missing required/,
      { response_format: { type: 'json_schema', json_schema: { name: 'a' } } },
    ],
    ['reasoning_effort', /Invalid value: 'huge'/, { reasoning_effort: 'huge' }],
    ['verbosity', /Invalid value: 'huge'/, { verbosity: 'huge' }],
    ['messages', /'response_format'/, { response_format: { type: 'json_object' } }],
    ['tool_choice', /not found in 'tools'/, { tool_choice: { type: 'function', function: { name: 'f' } } }],
    ['temprature', /Did you mean 'temperature'/, { temprature: 1 }],
    ['previous_response_id', /belongs to the Responses API/, { previous_response_id: 'resp_1' }],
    ['conversation', /belongs to the Responses API/, { conversation: 'conv_1' }],
    ['background', /belongs to the Responses API/, { background: true }],
    ['instructions', /belongs to the Responses API/, { instructions: 'Be brief.' }],
  ])('requests of Chat Completions are refused by the name of the parameter: %s', async (param, says, members) => {
    const { status, body } = await service.api.post('chat/completions', { ...ASK, ...members });
    expect([status, body]).toMatchObject([400, { error: { type: 'invalid_request_error', param } }]);
    expect((body['error'] as { message: string }).message).toMatch(says);
    expect(service.provider.turns).toHaveLength(0);
  });
});

describeService(
  'requests of Chat Completions with UNKNOWN_PARAMETERS=reject',
  { providers: [ScriptedProvider], environment: { UNKNOWN_PARAMETERS: 'reject' } },
  (service) => {
    it.each([
      [
        'messages[0].content[0].colour',
        { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', colour: 1 }] }] },
      ],
      [
        'messages[0].content[0].image_url.size',
        { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE, size: 1 } }] }] },
      ],
      ['tools[0].function.colour', { tools: [{ type: 'function', function: { name: 'f', colour: 1 } }] }],
      ['tools[0].colour', { tools: [{ ...FUNCTION, colour: 1 }] }],
      ['response_format.schema', { response_format: { type: 'json_object', schema: {} } }],
      ['messages[0].name', { messages: [{ role: 'user', content: 'Hi', name: 'x' }] }],
    ])(
      'requests of Chat Completions are refused with UNKNOWN_PARAMETERS=reject for a member that has no place: %s',
      async (param, members) => {
        const { status, body } = await service.api.post('chat/completions', { ...ASK, ...members });
        expect([status, body]).toMatchObject([400, { error: { code: 'unknown_parameter', param } }]);
      },
    );

    it('requests of Chat Completions may send back what they were answered', async () => {
      service.provider.reply(
        { type: 'reasoning', delta: 'Hm.' },
        { type: 'reasoning_encrypted', plain: 'Hm.' },
        { type: 'text', delta: 'Hello' },
      );
      const client = service.client();
      const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
      const stream = client.chat.completions.stream({
        model: 'scripted',
        messages: [{ role: 'user', content: 'Hi' }],
        tools,
      });
      const message = (await stream.finalChatCompletion()).choices[0]?.message;
      const { status, body } = await service.api.post('chat/completions', {
        model: 'scripted',
        messages: [...ASK.messages, message, ...ASK.messages],
      });
      expect([status, body]).toMatchObject([200, { object: 'chat.completion' }]);
    });
  },
);
