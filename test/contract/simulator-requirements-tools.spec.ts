import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { Clock } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { type SimulatorRequests, simulatorRequests } from '../support/simulator-requests.js';
import { PausingClock } from '../support/clocks.js';
import { Refusal } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

type Tool = OpenAI.Responses.Tool;

const functionTool = (name: string): Tool & { readonly type: 'function' } => ({
  type: 'function',
  name,
  description: `Does ${name}.`,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
  strict: true,
});

const TOOLS: readonly Tool[] = [
  functionTool('get_forecast'),
  { type: 'web_search' },
  { type: 'file_search', vector_store_ids: ['vs_1'] },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'mcp', server_label: 'docs', server_url: 'http://127.0.0.1:9/mcp', require_approval: 'never' },
  { type: 'image_generation' },
];

const service = useService({});
let simulator: SimulatorRequests;

beforeAll(() => {
  simulator = simulatorRequests(service);
});

describe('R7: error handling', () => {
  const FAULTS = [
    ['rate_limit', 429, 'rate_limit_error', 'rate_limit_exceeded', OpenAI.RateLimitError],
    ['server_error', 500, 'server_error', 'server_error', OpenAI.InternalServerError],
    ['unavailable', 503, 'service_unavailable_error', 'server_is_overloaded', OpenAI.InternalServerError],
  ] as const;

  it.each(FAULTS)('R7.1: the simulator injects %s by its rate, as HTTP %d', async (fault, status, type, code, kind) => {
    await using failing = await startService({ environment: { SIMULATOR_FAULTS: `${fault}=1` } });
    const error: unknown = await simulatorRequests(failing)
      .create()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, type, code });
    await expect(simulator.create()).resolves.toMatchObject({ status: 'completed' });
  });

  it.each(TRANSPORTS)('R7.2: the simulator has the form of API errors: $name', async (transport) => {
    await using failing = await startService({ environment: { SIMULATOR_FAULTS: 'rate_limit=1' } });
    const body = { model: 'gpt-5', input: 'Hello!' };
    const refusal: unknown = await transport.run(failing, body).catch((thrown: unknown) => thrown);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      status: 429,
      body: {
        error: {
          type: 'rate_limit_error',
          message: expect.stringMatching(/^Rate limit reached for gpt-5\. Please try again in [1-5]s\.$/),
          code: 'rate_limit_exceeded',
          param: null,
        },
      },
    });
  });

  it('R7.2: the simulator tells when to try again, in a header', async () => {
    await using failing = await startService({ environment: { SIMULATOR_FAULTS: 'rate_limit=1' } });
    const { headers, body } = await simulatorRequests(failing).post({ model: 'gpt-5', input: 'Hello!' });
    const { message } = (body as { readonly error: { readonly message: string } }).error;
    expect(message).toContain(`try again in ${headers.get('retry-after') ?? ''}s.`);
  });
});

describe('R8: model support', () => {
  it('R8.1: the simulator lists the models, and each of them answers', async () => {
    const { data } = await simulator.client.models.list();
    expect(data.length).toBeGreaterThan(10);
    for (const { id: model } of data) {
      await expect(simulator.create({ model })).resolves.toMatchObject({ model, status: 'completed' });
    }
  });

  it('R8.2: the simulator takes as long as the model does, where it is to be realistic', async () => {
    const clock = new PausingClock();
    await using slow = await startService({
      environment: { SIMULATOR_LATENCY: 'realistic' },
      overrides: [[Clock, clock]],
    });
    const measure = async (model: string): Promise<number> => {
      const before = clock.now();
      let tokens = 0;
      for (const input of ['Hello!', 'Which bridge is the oldest?', 'Tell me of the harbor.', 'Why?', 'How far?']) {
        const { usage } = await simulatorRequests(slow).create({ model, input });
        tokens += usage?.output_tokens ?? NaN;
      }
      return (clock.now() - before) / tokens;
    };
    const family = ['gpt-4.1-nano', 'gpt-4.1-mini', 'gpt-4.1'] as const;
    const times = [];
    for (const model of family) times.push(await measure(model));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    // Between two tokens and to the first one: some milliseconds a token, not none and not seconds.
    expect(times[0]).toBeGreaterThan(5);
    expect(times[2]).toBeLessThan(100);
  });

  it('R8.2: the simulator takes no time by default', async () => {
    const clock = new PausingClock();
    await using instant = await startService({ overrides: [[Clock, clock]] });
    const before = clock.now();
    await simulatorRequests(instant).create({ model: 'o3' });
    expect(clock.now()).toBe(before);
  });
});

describe('R9: tool definitions', () => {
  it.each(TRANSPORTS)('R9.1: the simulator takes and echoes every type of tool: $name', async (transport) => {
    const body = { model: 'gpt-5', input: 'Hello!', tools: TOOLS, tool_choice: 'none' };
    const { response } = await transport.run(service, body);
    expect(response).toMatchObject({ status: 'completed', tools: TOOLS });
  });

  it.each(TOOLS.filter(({ type }) => type !== 'function'))('R9.1: the simulator does not run $type', async (tool) => {
    const { status, output } = await simulator.create({ tools: [tool] });
    expect({ status, types: output.map(({ type }) => type) }).toEqual({ status: 'completed', types: ['message'] });
  });

  it('R9.1: the simulator takes the headers of an mcp server', async () => {
    const headers = { 'x-team': 'maps' };
    const tool: Tool = { type: 'mcp', server_label: 'docs', server_url: 'http://127.0.0.1:9/mcp', headers };
    await expect(simulator.create({ tools: [tool] })).resolves.toMatchObject({ status: 'completed' });
  });

  const tools = ['get_forecast', 'find_route', 'book_room'].map(functionTool);
  const QUESTION = 'What should I do tomorrow?';

  it('R9.2: the simulator calls a tool with auto, and answers once the output is there', async () => {
    const first = await simulator.create({ tools, tool_choice: 'auto', input: QUESTION });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('expected a call');
    expect(tools.map(({ name }) => name)).toContain(call.name);
    expect(JSON.parse(call.arguments)).toEqual({ city: expect.any(String), days: expect.any(Number) });
    const second = await simulator.create({
      tools,
      tool_choice: 'auto',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' }],
    });
    expect(second.output.map(({ type }) => type)).toEqual(['message']);
  });

  it('R9.2: the simulator calls nothing with none', async () => {
    const { output } = await simulator.create({ tools, tool_choice: 'none', input: 'Call get_forecast!' });
    expect(output.map(({ type }) => type)).toEqual(['message']);
  });

  it('R9.2: the simulator calls a tool with required even when the output is there', async () => {
    const first = await simulator.create({ tools, tool_choice: 'required', input: QUESTION });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('expected a call');
    const second = await simulator.create({
      tools,
      tool_choice: 'required',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' }],
    });
    expect(second.output.map(({ type }) => type)).toEqual(['function_call']);
  });

  it.each(tools)('R9.2: the simulator calls the function that is named: $name', async ({ name }) => {
    const { output, tool_choice } = await simulator.create({
      tools,
      tool_choice: { type: 'function', name },
      input: QUESTION,
    });
    expect(tool_choice).toEqual({ type: 'function', name });
    expect(output).toMatchObject([{ type: 'function_call', name, status: 'completed' }]);
  });
});
