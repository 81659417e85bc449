import { beforeAll, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type OpenAI from 'openai';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';

type Input = OpenAI.Responses.ResponseInput;

const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
} as const satisfies OpenAI.Responses.FunctionTool;

describeService('calls and their outputs', { providers: [ScriptedProvider] }, (service) => {
  let client: OpenAI;

  beforeAll(() => {
    client = service.client();
  });

  const ask = (input: Input, previous_response_id: string | null = null): Promise<OpenAI.Responses.Response> =>
    client.responses.create({ model: 'scripted', input, previous_response_id, tools: [weather] });

  const call = (callId: string): Promise<OpenAI.Responses.Response> => {
    service.provider.reply({ type: 'function_call', name: 'get_weather', callId });
    return ask([{ role: 'user', content: 'Weather?' }]);
  };

  const output = (call_id: string): Input[number] => ({ type: 'function_call_output', call_id, output: 'sunny' });

  it('a turn goes on with the output of a call', async () => {
    const { id } = await call('call_1');
    const { output_text } = await ask([output('call_1')], id);
    expect(output_text).toBe('ok');
    const types = service.provider.turns.at(-1)?.context.map(({ type }) => type);
    expect(types).toEqual(['message', 'function_call', 'function_call_output']);
  });

  it('the service takes calls and outputs that the client replays without ids', async () => {
    const replayed: Input = [
      { role: 'user', content: 'Weather?' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
      output('call_1'),
    ];
    await expect(ask(replayed)).resolves.toMatchObject({ status: 'completed' });
  });

  it.each<[fault: string, input: Input, message: string]>([
    [
      'an output without its call',
      [output('call_9')],
      'No tool call found for function call output with call_id call_9.',
    ],
    [
      'a call without its output',
      [{ role: 'user', content: 'Well?' }],
      'No tool output found for function call call_1.',
    ],
    [
      'another call besides, without output',
      [output('call_1'), { type: 'function_call', call_id: 'call_2', name: 'get_weather', arguments: '{}' }],
      'No tool output found for function call call_2.',
    ],
    [
      'an item id twice',
      [output('call_1'), ...['msg_1', 'msg_1'].map((id) => ({ id, role: 'user', content: 'x' }) as never)],
      'Duplicate item found with id msg_1. Remove duplicate items from your input and try again.',
    ],
  ])('the service refuses %s', async (_, input, message) => {
    const { id } = await call('call_1');
    const before = service.provider.turns.length;
    for (const stream of [false, true]) {
      const refused = client.responses.create({ model: 'scripted', input, previous_response_id: id, stream });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        code: null,
        param: 'input',
        message: `400 ${message}`,
      });
    }
    expect(service.provider.turns).toHaveLength(before);
  });

  it('the service refuses items of the chain that are sent again', async () => {
    const first = await ask([{ role: 'user', content: 'Hi' }]);
    const [said] = first.output;
    await expect(ask([said, { role: 'user', content: 'Go on' }] as Input, first.id)).rejects.toMatchObject({
      status: 400,
      param: 'input',
      message: expect.stringMatching(new RegExp(`^400 Duplicate item found with id ${said?.id ?? ''}`)) as unknown,
    });
  });
});

describeService('an agent on the simulator', {}, (service) => {
  let client: OpenAI;

  beforeAll(() => {
    client = service.client();
  });

  it.each([true, false])('an agent on the simulator ends its loop by itself (stored chain: %s)', async (stored) => {
    const history: Input = [{ role: 'user', content: 'What is the weather in Paris?' }];
    let input = history;
    let previous_response_id: string | null = null;
    const called: string[] = [];
    for (let step = 0; step < 5; step += 1) {
      const params = { model: 'gpt-5', input, previous_response_id, tools: [weather], store: stored };
      const response: OpenAI.Responses.Response = await client.responses.create(params);
      const calls = response.output.filter((item) => item.type === 'function_call');
      if (calls.length === 0) {
        expect(response.output_text).not.toBe('');
        break;
      }
      called.push(...calls.map(({ name }) => name));
      for (const { arguments: json } of calls) {
        expect(new Ajv2020().validate(weather.parameters, JSON.parse(json))).toBe(true);
      }
      const outputs = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'sunny' }) as const);
      history.push(...(response.output as Input), ...outputs);
      input = stored ? outputs : history;
      previous_response_id = stored ? response.id : null;
    }
    expect(called).toEqual(['get_weather']);
  });

  it('the simulator forces the tool that tool_choice names', async () => {
    const { output } = await client.responses.create({
      model: 'gpt-4.1',
      input: 'Hello',
      tools: [weather, { ...weather, name: 'other' }],
      tool_choice: { type: 'function', name: 'other' },
    });
    expect(output).toMatchObject([{ type: 'function_call', name: 'other' }]);
  });

  const schema = {
    type: 'object',
    $defs: {
      step: {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
        additionalProperties: false,
      },
    },
    properties: {
      steps: { type: 'array', items: { $ref: '#/$defs/step' }, minItems: 1 },
      answer: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    },
    required: ['steps', 'answer'],
    additionalProperties: false,
  };
  const format = { type: 'json_schema', name: 'solution', strict: true, schema } as const;

  it('the simulator writes what a JSON schema allows, and parse() reads it', async () => {
    const response = await client.responses.parse({ model: 'gpt-5-mini', input: 'Solve it', text: { format } });
    const value: unknown = JSON.parse(response.output_text);
    const ajv = new Ajv2020({ strict: false });
    expect(ajv.validate(schema, value) || ajv.errorsText()).toBe(true);
    expect(response.text?.format).toEqual(format);
  });

  it('the simulator streams the same structured output', async () => {
    const params = { model: 'gpt-5-mini', input: 'Solve it', text: { format } } as const;
    const { output_text } = await client.responses.create(params);
    const streamed = await client.responses.stream(params).finalResponse();
    expect(streamed.output_text).toBe(output_text);
  });
});
