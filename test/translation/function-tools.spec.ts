import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readCalls } from './call-groups.js';
import { functionsOf, Translation } from '../support/translation/translation.js';
import { itemsOf } from '../support/output.js';
import { functionCall, functionOutput, functionTool, user } from '../support/translation/user-items.js';

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const NOTHING = { type: 'object', properties: {}, required: [], additionalProperties: false };
const id = (prefix: string): unknown => expect.stringMatching(new RegExp(`^${prefix}_`));

describe('function tools for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({ strict: { capabilities: { strict_tools: true } } });
  });

  afterAll(() => translation.close());

  it.each<[string, object, object]>([
    [
      'name, description and parameters',
      { description: 'Tells the weather.', parameters: SCHEMA, strict: false },
      { description: 'Tells the weather.', parameters: SCHEMA },
    ],
    ['parameters that are null', { parameters: null, strict: false }, { parameters: NOTHING }],
    ['no parameters', {}, { parameters: NOTHING }],
    [
      'parameters that say nothing',
      { parameters: {}, strict: false },
      { parameters: { type: 'object', properties: {} } },
    ],
    [
      'parameters without a type',
      { parameters: { anyOf: [SCHEMA] } },
      { parameters: { anyOf: [SCHEMA], type: 'object', properties: {} } },
    ],
    ['a description that is null', { description: null, parameters: SCHEMA }, { parameters: SCHEMA }],
    [
      'members that are of no use upstream',
      { parameters: SCHEMA, strict: false, output_schema: null, defer_loading: true },
      { parameters: SCHEMA },
    ],
  ])('function tools have %s', async (_, members, sent) => {
    const tools = [{ type: 'function', name: 'get_weather', ...members }];
    const body = await translation.sent({ tools });
    expect(body['tools']).toEqual([{ type: 'function', function: { name: 'get_weather', ...sent } }]);
    expect(body['tool_choice']).toBeUndefined();
  });

  it('function tools are strict where the upstream knows what that is', async () => {
    const tools = [
      functionTool('one', { parameters: SCHEMA, strict: true }),
      functionTool('two', { parameters: SCHEMA, strict: false }),
      functionTool('three', { parameters: SCHEMA, strict: null }),
    ];
    const strictness = (functions: readonly object[]): readonly unknown[] =>
      functions.map((offered) => (offered as { strict?: unknown }).strict === true);
    expect(strictness(await translation.functions({ model: 'strict', tools }))).toEqual([true, false, false]);
    expect(strictness(await translation.functions({ tools }))).toEqual([false, false, false]);
  });

  it('function tools are called, and answered, under their own names', async () => {
    const tools = [functionTool('get_weather', { parameters: SCHEMA }), functionTool('get_time')];
    const toolCalls = [
      { name: 'get_weather', arguments: ['{"city":', ' "Bern"}'] },
      { name: 'get_time', arguments: '{}' },
    ];
    const { response, events = [] } = await translation.turn({ tools, input: 'How is Bern?' }, { toolCalls });
    expect(itemsOf(response)).toEqual([
      {
        id: id('fc'),
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'get_weather',
        arguments: '{"city": "Bern"}',
      },
      {
        id: id('fc'),
        type: 'function_call',
        status: 'completed',
        call_id: 'call_2',
        name: 'get_time',
        arguments: '{}',
      },
    ]);
    const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(deltas.map(({ delta }) => delta)).toEqual(['{"city":', ' "Bern"}', '{}']);
    const input = [
      user('How is Bern?'),
      ...itemsOf(response),
      functionOutput('call_2', 'noon'),
      functionOutput('call_1', 'sunny'),
    ];
    const { messages = [] } = await translation.sent({ tools, input });
    expect(readCalls(messages)).toEqual([
      { id: 'call_1', name: 'get_weather', arguments: '{"city": "Bern"}', output: 'sunny' },
      { id: 'call_2', name: 'get_time', arguments: '{}', output: 'noon' },
    ]);
  });

  it.each(['', ' ', 'null'])('calls in the past without arguments have an empty object (%j)', async (json) => {
    const input = [user('Look.'), functionCall('call_1', 'look', json), functionOutput('call_1', 'sunny')];
    expect(readCalls(await translation.messages({ input }))).toMatchObject([{ arguments: '{}' }]);
  });

  it.each(['{"city": Bern', '"Bern"', '["Bern"]', '{"city":"Be'])(
    'arguments that are no object are told to the upstream as an object: %s',
    async (json) => {
      const input = [user('Look.'), functionCall('call_1', 'look', json), functionOutput('call_1', 'That is no JSON.')];
      const [call] = readCalls(await translation.messages({ input }));
      // Many servers read the arguments of earlier calls, and refuse the conversation for one that is no object.
      expect(JSON.parse(call?.arguments ?? '')).toEqual({ input: json });
    },
  );

  it.each(['{}', '{ "city" : "Bern" }', '{"city":"Bern","city":"Basel"}', '{"n":12345678901234567890}'])(
    'arguments that are an object are told to the upstream letter by letter: %s',
    async (json) => {
      const input = [user('Look.'), functionCall('call_1', 'look', json), functionOutput('call_1', 'sunny')];
      expect(readCalls(await translation.messages({ input }))).toMatchObject([{ arguments: json }]);
    },
  );

  it('function tools may be called after words, which are an item of their own', async () => {
    const answer = { text: 'One moment.', toolCalls: [{ name: 'look', arguments: '{}' }] };
    const { response } = await translation.turn({ tools: [functionTool('look')] }, answer);
    expect(itemsOf(response).map(({ type }) => type)).toEqual(['message', 'function_call']);
  });

  it.each<[string, object]>([
    ['web_search', { type: 'web_search', search_context_size: 'low' }],
    ['file_search', { type: 'file_search', vector_store_ids: ['vs_1'] }],
    ['code_interpreter', { type: 'code_interpreter', container: { type: 'auto' } }],
    ['image_generation', { type: 'image_generation' }],
    ['mcp', { type: 'mcp', server_label: 'docs', server_url: 'https://example.com/mcp' }],
    ['computer', { type: 'computer' }],
  ])('function tools stand alone where the others are hosted: %s', async (_, hosted) => {
    const { response, body } = await translation.turn({ tools: [hosted, functionTool('look')] });
    expect(functionsOf(body).map(({ name }) => name)).toEqual(['look']);
    expect((response['tools'] as readonly object[])[0]).toEqual(hosted);
    const alone = await translation.sent({ tools: [hosted] });
    expect(alone['tools']).toBeUndefined();
  });

  describe('that the model calls wrongly', () => {
    it.each<[string, string, string]>([
      ['arguments that are no JSON', '{"city": Bern', 'incomplete'],
      ['arguments that do not fit', '{"town":"Bern"}', 'completed'],
      ['arguments that are no object', '"Bern"', 'completed'],
    ])('functions are called with %s, as the model said them', async (_, json, status) => {
      const toolCalls = [{ name: 'get_weather', arguments: json }];
      const { response } = await translation.turn({ tools: [functionTool('get_weather')] }, { toolCalls });
      expect(itemsOf(response)).toMatchObject([
        { type: 'function_call', status, name: 'get_weather', arguments: json },
      ]);
    });

    it.each(['no_such_function', 'GET_WEATHER', 'get_weather.now', 'functions.get_weather'])(
      'a wrongly called function is shown as %s when that is the name',
      async (name) => {
        const toolCalls = [{ name, arguments: '{"city":"Bern"}' }];
        const { response } = await translation.turn({ tools: [functionTool('get_weather')] }, { toolCalls });
        expect(response.status).toBe('completed');
        expect(itemsOf(response)).toMatchObject([
          { type: 'function_call', call_id: 'call_1', name, arguments: '{"city":"Bern"}' },
        ]);
        const input = [user('Hi'), ...itemsOf(response), functionOutput('call_1', 'There is no such function.')];
        const [call] = readCalls(await translation.messages({ input, tools: [functionTool('get_weather')] }));
        expect(call).toMatchObject({ arguments: '{"city":"Bern"}', output: 'There is no such function.' });
      },
    );

    it('a function is called although none was offered', async () => {
      const { response } = await translation.turn({}, { toolCalls: [{ name: 'look', arguments: '{}' }] });
      expect(itemsOf(response)).toMatchObject([{ type: 'function_call', name: 'look', arguments: '{}' }]);
    });

    it('a call is cut off in the middle of the arguments', async () => {
      const toolCalls = [
        { name: 'get_weather', arguments: '{"city":"Bern"}' },
        { name: 'get_weather', arguments: '{"city":"Os' },
      ];
      const { response } = await translation.turn(
        { tools: [functionTool('get_weather')] },
        { toolCalls, finish: 'length' },
      );
      expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
      expect(itemsOf(response)).toMatchObject([
        { status: 'completed', arguments: '{"city":"Bern"}' },
        { status: 'incomplete', arguments: '{"city":"Os' },
      ]);
    });
  });
});
