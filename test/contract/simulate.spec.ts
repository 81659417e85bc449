import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { call, fail, reasoning, refusal, simulate, type Simulation, text } from 'antiphon/testing';
import OpenAI from 'openai';

import { SocketClient } from '../support/socket-client.js';

const clientOf = ({ url, apiKey }: { readonly url: string; readonly apiKey: string }): OpenAI =>
  new OpenAI({ baseURL: url, apiKey, maxRetries: 0 });

const WEATHER = {
  type: 'function',
  name: 'weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
} as const;

/** What a promise rejects with. */
async function messageOf(failing: Promise<unknown>): Promise<string> {
  return failing.then(
    () => 'nothing was thrown',
    (error: unknown) => (error as Error).message,
  );
}

let sim: Simulation;
let client: OpenAI;

beforeAll(async () => {
  sim = await simulate({ answers: [text('Hello'), call('weather', { city: 'Oslo' }), text('It rains.')] });
  client = clientOf(sim);
});
beforeEach(() => sim.reset());
afterAll(() => sim.close());

const say = async (input: string, of = client): Promise<string> =>
  (await of.responses.create({ model: 'gpt-5', input })).output_text;

describe('the answers of simulate()', () => {
  it('the answers of simulate() answer in order, over every transport, and are written down as they were sent', async () => {
    expect(await say('Hi')).toBe('Hello');
    const input = [{ role: 'user' as const, content: 'Weather?' }];
    const stream = await client.responses.create({ model: 'gpt-5', input, tools: [WEATHER], stream: true });
    const types = (await Array.fromAsync(stream)).map(({ type }) => type);
    expect(types).toContain('response.function_call_arguments.done');
    await using socket = await SocketClient.open({ port: Number(new URL(sim.url).port) });
    socket.create({ model: 'gpt-5', input: 'And now?', store: false });
    await socket.finish();

    expect(sim.requests.map(({ number, transport, status }) => [number, transport, status])).toEqual([
      [1, 'json', 'completed'],
      [2, 'sse', 'completed'],
      [3, 'websocket', 'completed'],
    ]);
    expect(sim.requests[0]?.request).toEqual({ model: 'gpt-5', input: 'Hi' });
    expect(sim.requests[1]?.request).toEqual({ model: 'gpt-5', input, tools: [WEATHER], stream: true });
    expect(sim.requests[1]?.response?.output).toMatchObject([{ name: 'weather', arguments: '{"city":"Oslo"}' }]);
    expect(sim.last).toMatchObject({ input: 'And now?', model: 'gpt-5', response: { output_text: 'It rains.' } });
    expect(sim.journal.split('\n')[1]).toMatch(/^2\. sse gpt-5 \[.*\] → completed weather$/);
  });

  it('the answers of simulate() begin again after a reset, which empties the journal', async () => {
    await say('Hi');
    sim.on(/hi/i, text('not this'));
    sim.reset();
    expect(() => sim.last).toThrow('no request');
    expect(await say('Hi')).toBe('Hello');
    expect(sim.last.number).toBe(1);
  });

  it('the answers of simulate() are everything a script has', async () => {
    sim.answer(
      [reasoning('Oslo, so …'), text(['It ', 'pours.'])],
      refusal('I will not.'),
      fail({ kind: 'rate_limit', retry_after: 2 }),
      { search: 'rain in Oslo', text: 'Found.' },
      { cut: true },
    );
    const first = await client.responses.create({ model: 'gpt-5', input: 'a' });
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(first.output_text).toBe('It pours.');
    const { output } = await client.responses.create({ model: 'gpt-5', input: 'b' });
    expect(output).toMatchObject([{ content: [{ type: 'refusal', refusal: 'I will not.' }] }]);
    expect(sim.journal.split('\n').at(-1)).toMatch(/→ completed refusal "I will not\."$/);
    await expect(say('c')).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(sim.last).toMatchObject({ status: 'refused', error: { status: 429, code: 'rate_limit_exceeded' } });
    const found = await client.responses.create({ model: 'gpt-5', input: 'd', tools: [{ type: 'web_search' }] });
    expect(found.output.map(({ type }) => type)).toEqual(['web_search_call', 'message']);
    await expect(say('e')).rejects.toThrow(OpenAI.APIConnectionError);
  });
});

describe('a request', () => {
  it('a request that nothing answers is refused with what there is, and where it was given', async () => {
    sim.answer(text('only one'));
    sim.on({ text: /train/, tool: 'book' }, text('a train'));
    await say('Hi');
    const message = await messageOf(client.responses.create({ model: 'gpt-5', input: 'Bye', tools: [WEATHER] }));
    expect(message).toContain(
      `400 Nothing answers this request: model 'gpt-5', last user message "Bye", tools weather.`,
    );
    expect(message).toMatch(
      /- on\({ text: \/train\/, tool: "book" }\) at test\/contract\/simulate\.spec\.ts:\d+:\d+\n/,
    );
    expect(message).toMatch(
      /- the answer of answer\(\) at test\/contract\/simulate\.spec\.ts:\d+:\d+, all of which are used$/,
    );
  });

  it.each([
    ['a misspelt member', { model: 'gpt-5', input: 'Hi', temprature: 1 }, 'unknown_parameter'],
    [
      'an unknown parent',
      { model: 'gpt-5', input: 'Hi', previous_response_id: 'resp_0' },
      'previous_response_not_found',
    ],
    [
      'a schema that is not strict',
      { model: 'gpt-5', input: 'Hi', tools: [{ ...WEATHER, parameters: {} }] },
      'invalid_function_parameters',
    ],
  ])('a request with %s is refused as at OpenAI, takes no answer, and is in the journal', async (_, request, code) => {
    await expect(client.responses.create(request as never)).rejects.toMatchObject({ status: 400, code });
    expect(sim.last).toMatchObject({ request, status: 'refused', error: { status: 400, code }, response: null });
    expect(await say('Hi')).toBe('Hello');
  });

  it('a request on a socket is written down when it is refused', async () => {
    await using socket = await SocketClient.open({ port: Number(new URL(sim.url).port) });
    socket.create({ model: 'gpt-5', input: 'Hi', temprature: 1 });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 400 });
    expect(sim.last).toMatchObject({ transport: 'websocket', error: { code: 'unknown_parameter' } });
  });

  it('a request in the background is answered too', async () => {
    sim.answer({ text: 'Later.' });
    const stream = await client.responses.create({ model: 'gpt-5', input: 'Hi', background: true, stream: true });
    expect((await Array.fromAsync(stream)).at(-1)?.type).toBe('response.completed');
    expect(sim.last).toMatchObject({ status: 'completed', response: { output_text: 'Later.' } });
  });
});

describe('on()', () => {
  it.each([
    ['a text', 'WEATHER', 'What is the weather?', 'Goodbye'],
    ['a RegExp', /^what.*\?$/gi, 'What is it?', 'What it is'],
    ['a model', { model: 'gpt-5' }, 'Hi', null],
    ['a function', ({ text: said }: { readonly text: string }) => said.length === 3, 'Yes', 'No'],
  ])('on() matches %s, again and again', async (_, matcher, matched, other) => {
    sim.on(matcher, text('matched'));
    expect(await say(matched)).toBe('matched');
    expect(await say(matched)).toBe('matched');
    if (other !== null) expect(await say(other)).toBe('Hello');
  });

  it('on() goes on with its next answer as the conversation does, and the newest counts', async () => {
    sim.on('weather', text('older'));
    sim.on({ tool: 'weather', text: 'weather' }, call('weather', { city: 'Oslo' }), text('It snows.'));
    const request = { model: 'gpt-5', tools: [WEATHER] };
    for (let time = 0; time < 2; time++) {
      const first = await client.responses.create({ ...request, input: 'The weather?' });
      const asked = first.output[0];
      if (asked?.type !== 'function_call') throw new Error('expected a call');
      const input = [{ type: 'function_call_output' as const, call_id: asked.call_id, output: 'snow' }];
      const second = await client.responses.create({ ...request, input, previous_response_id: first.id });
      expect(second.output_text).toBe('It snows.');
      expect(sim.last.input).toEqual(input);
    }
    expect(await say('The weather?')).toBe('older');
  });

  it.each([
    ['asynchronous', async () => true, 'Promise'],
    ['without an answer', () => undefined, 'undefined'],
    ['one with a list', ({ text: said }: { text: string }) => said.match(/x/), "[ 'x'"],
  ])('on() refuses to go on with a matcher that is %s, and says so', async (_, matcher, got) => {
    sim.on(matcher as never, text('never'));
    expect(await messageOf(say('x'))).toContain(`TypeError: expected true or false, but got ${got}`);
  });

  it('on() refuses what its matcher fails for, and says so', async () => {
    const matcher = (): boolean => {
      throw new Error('this predicate is broken');
    };
    sim.on(matcher, text('never'));
    expect(await messageOf(say('Hi'))).toMatch(
      /^400 The matcher of on\(matcher\) at test\/contract\/simulate\.spec\.ts:\d+:\d+ has failed: Error: this predicate is broken$/,
    );
  });
});

describe('an answer of several parts', () => {
  it('an answer of several parts ends as its last part does', async () => {
    sim.answer([reasoning('So …'), { text: 'It is cut', finish: 'length' }]);
    const { status, output_text: said } = await client.responses.create({ model: 'gpt-5', input: 'Hi' });
    expect([status, said]).toEqual(['incomplete', 'It is cut']);
  });
});

describe('fault()', () => {
  it('fault() hits the next turns only, which take no answer if they are refused', async () => {
    sim.fault('rate_limit', { turns: 2, retryAfterSeconds: 0 });
    const codes = [];
    for (const input of ['a', 'b', 'c'])
      codes.push(await say(input).catch((error: unknown) => (error as { readonly code: string }).code));
    expect(codes).toEqual(['rate_limit_exceeded', 'rate_limit_exceeded', 'Hello']);
  });
});

describe('a space', () => {
  it('a space shares nothing with another one', async () => {
    const [one, two] = [sim.space({ answers: [text('one')] }), sim.space({ answers: [text('two')] })];
    one.on('special', text('only here'));
    one.fault('server_error');
    expect(await say('special', clientOf(two))).toBe('two');
    await expect(say('special', clientOf(one))).rejects.toMatchObject({ status: 500 });
    expect(await say('special', clientOf(one))).toBe('only here');
    expect(await say('other', clientOf(one))).toBe('one');
    expect(two.requests).toHaveLength(1);
    expect(one.requests).toHaveLength(3);
    expect(sim.requests).toEqual([]);
    one.reset();
    expect(two.requests).toHaveLength(1);
    const { id } = await clientOf(one).responses.create({ model: 'gpt-5', input: 'Keep this' });
    await expect(clientOf(two).responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it('a space is kept, however many others there are', async () => {
    const first = sim.space({ answers: [text('first')] });
    for (let other = 0; other < 300; other++) sim.space();
    expect(await say('Hi', clientOf(first))).toBe('first');
    expect(await say('Hi')).toBe('Hello');
    expect([first.requests.length, sim.requests.length]).toEqual([1, 1]);
  });

  it('a space has no answers unless it is given some', async () => {
    const message = await messageOf(say('Hi', clientOf(sim.space())));
    expect(message).toMatch(/There are:\n- no answers, space\(\) at test\/contract\/simulate\.spec\.ts:\d+:\d+$/);
  });

  it('a space runs beside another one', async () => {
    const spaces = Array.from({ length: 8 }, (_, index) =>
      sim.space({ answers: [text(`${index} a`), text(`${index} b`)] }),
    );
    const said = await Promise.all(
      spaces.map(async (space) => [await say('first', clientOf(space)), await say('second', clientOf(space))]),
    );
    expect(said).toEqual(spaces.map((_, index) => [`${index} a`, `${index} b`]));
  });
});

describe('a simulation of its own', () => {
  it('a simulation leaves signals to the process of the tests', async () => {
    const count = (): readonly number[] => ['SIGINT', 'SIGTERM'].map((signal) => process.listenerCount(signal));
    const before = count();
    await using other = await simulate();
    expect(count()).toEqual(before);
    await other.close();
  });

  it('a simulation has scripts by model, variables, and answers that are generated where that is wanted', async () => {
    process.env['SIMULATOR_GENERATOR'] = 'nothing';
    await using other = await simulate({
      scripts: [{ model: 'clerk', turns: [{ text: 'Next, please.' }] }],
      unmatched: 'generate',
      environment: { SIMULATOR_GENERATOR: 'echo' },
    }).finally(() => delete process.env['SIMULATOR_GENERATOR']);
    const { responses } = new OpenAI({ baseURL: other.env.OPENAI_BASE_URL, apiKey: other.env.OPENAI_API_KEY });
    expect((await responses.create({ model: 'clerk', input: 'Hi' })).output_text).toBe('Next, please.');
    expect((await responses.create({ model: 'gpt-5', input: 'An echo' })).output_text).toBe('An echo');
    await other.close();
  });
});
