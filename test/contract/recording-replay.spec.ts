import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { Clock, type ModelEvent, SystemClock } from '../../src/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { RecordedSession } from '../support/recorded-session.js';
import type { Service } from '../support/service.js';
import { askFor } from '../support/simulator-requests.js';
import { JSON_TRANSPORT, SSE_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false } as const];
const text = (delta: string): ModelEvent => ({ type: 'text', delta });

describe('a recorded conversation', () => {
  let session: RecordedSession;

  beforeEach(async () => {
    session = await RecordedSession.begin();
  });

  afterEach(() => session[Symbol.asyncDispose]());

  /** Says something, with everything that was said before if it is given. */
  const say = (client: OpenAI, model: string, input: string, previous?: string): Promise<OpenAI.Responses.Response> =>
    client.responses.create({ model, input, previous_response_id: previous ?? null });

  /** Two conversations that begin with different words and go on with the same. */
  const record = (): Promise<void> =>
    session.record(async (service, provider) => {
      for (const delta of ['A1', 'B1', 'A2', 'B2', 'A3', 'B3']) provider.reply(text(delta));
      const client = service.client();
      let [a, b] = [await say(client, 'scripted', 'This is A.'), await say(client, 'scripted', 'This is B.')];
      for (let turn = 0; turn < 2; turn += 1) {
        a = await say(client, 'scripted', 'Go on.', a.id);
        b = await say(client, 'scripted', 'Go on.', b.id);
      }
    });

  it('a recorded conversation is found whatever else is replayed before or meanwhile', async () => {
    await record();
    await using service = await session.replay();
    const client = service.client();
    const b1 = await say(client, 'session', 'This is B.');
    const b2 = await say(client, 'session', 'Go on.', b1.id);
    const a1 = await say(client, 'session', 'This is A.');
    const [b3, a2] = await Promise.all([
      say(client, 'session', 'Go on.', b2.id),
      say(client, 'session', 'Go on.', a1.id),
    ]);
    const a3 = await say(client, 'session', 'Go on.', a2.id);
    const said = [a1, a2, a3, b1, b2, b3].map(({ output_text }) => output_text);
    expect(said).toEqual(['A1', 'A2', 'A3', 'B1', 'B2', 'B3']);
  });

  it('a recorded conversation is found when its client sends all of it again', async () => {
    await record();
    await using service = await session.replay();
    const client = service.client();
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'This is B.' }];
    const said: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const response = await client.responses.create({ model: 'session', input, store: false });
      said.push(response.output_text);
      input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]), {
        role: 'user',
        content: [{ type: 'input_text', text: 'Go on.' }],
      });
    }
    expect(said).toEqual(['B1', 'B2', 'B3']);
  });

  it('a recorded conversation gives the same question its answers in the order in which they were recorded, the last again and again', async () => {
    await session.record(async (service, provider) => {
      for (const delta of ['first', 'second']) provider.reply(text(delta));
      for (let turn = 0; turn < 2; turn += 1) await say(service.client(), 'scripted', 'Hi');
    });
    await using service = await session.replay();
    const said: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) said.push((await say(service.client(), 'session', 'Hi')).output_text);
    expect(said).toEqual(['first', 'second', 'second']);
  });

  it.each(TRANSPORTS)(
    'a recorded conversation goes on where it has come to when tools answer otherwise, on $name',
    async (transport) => {
      await session.record(async (service, provider) => {
        provider.reply({ type: 'function_call', name: 'look' }, { type: 'function_call_arguments', delta: '{"at":1}' });
        provider.reply({ type: 'function_call', name: 'look', callId: 'call_recorded' });
        provider.reply(text('Seen.'));
        const client = service.client();
        let response = await client.responses.create({ model: 'scripted', input: 'Look.', tools });
        for (const output of ['recorded one', 'recorded two']) {
          const [call] = response.output as [OpenAI.Responses.ResponseFunctionToolCall];
          response = await client.responses.create({
            model: 'scripted',
            previous_response_id: response.id,
            tools,
            input: [{ type: 'function_call_output', call_id: call.call_id, output }],
          });
        }
      });
      await using service = await session.replay();
      let { response } = await transport.run(service, { model: 'session', input: 'Look.', tools });
      const args: string[] = [];
      for (const output of ['something else', '']) {
        const [call] = response['output'] as [{ readonly call_id: string; readonly arguments: string }];
        args.push(call.arguments);
        const input = [{ type: 'function_call_output', call_id: call.call_id, output }];
        ({ response } = await transport.run(service, {
          model: 'session',
          previous_response_id: response.id,
          tools,
          input,
        }));
      }
      expect(args).toEqual(['{"at":1}', '{}']);
      expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Seen.' }] }] });
    },
  );

  it('a recorded conversation keeps to itself when tools answer otherwise and others were recorded too', async () => {
    await session.record(async (service, provider) => {
      for (const name of ['A', 'B']) {
        provider.reply({ type: 'function_call', name: 'look', callId: `call_${name}` }).reply(text(`${name} seen.`));
        const body = { model: 'scripted', tools };
        const { response } = await JSON_TRANSPORT.run(service, { ...body, input: `Look at ${name}.` });
        const input = [{ type: 'function_call_output', call_id: `call_${name}`, output: 'recorded' }];
        await JSON_TRANSPORT.run(service, { ...body, previous_response_id: response.id, input });
      }
    });
    await using service = await session.replay();
    const { response } = await JSON_TRANSPORT.run(service, { model: 'session', tools, input: 'Look at B.' });
    const input = [{ type: 'function_call_output', call_id: 'call_B', output: 'something else' }];
    const next = await JSON_TRANSPORT.run(service, {
      model: 'session',
      tools,
      previous_response_id: response.id,
      input,
    });
    expect(next.response).toMatchObject({ output: [{ content: [{ text: 'B seen.' }] }] });
  });
});

describe('a question that was not recorded', () => {
  const ask = { model: 'session', input: 'What else?' };
  let asked: RecordedSession;
  let service: Service;
  let generating: Service;

  beforeAll(async () => {
    asked = await RecordedSession.begin();
    await asked.record(async (recording, provider) => {
      provider.reply(text('The only answer.'));
      await recording.client().responses.create({ model: 'scripted', input: 'What?' });
    });
    service = await asked.replay();
    generating = await asked.replay({ environment: { SIMULATOR_UNMATCHED: 'generate' } });
  });

  afterAll(async () => {
    for (const used of [service, generating, asked]) await used[Symbol.asyncDispose]();
  });

  it.each(TRANSPORTS)(
    'a question that was not recorded is refused, also by a recording with one turn, on $name',
    async (transport) => {
      await expect(transport.run(service, ask)).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'script_exhausted', message: expect.stringContaining("'session'") } },
      });
    },
  );

  it.each(TRANSPORTS)(
    'a question that was not recorded is answered as without a recording where that is wanted, on $name',
    async (transport) => {
      const { response } = await transport.run(generating, ask);
      expect(response).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
      expect(JSON.stringify(response)).not.toContain('The only answer.');
      const known = await transport.run(generating, { ...ask, input: 'What?' });
      expect(known.response).toMatchObject({ output: [{ content: [{ text: 'The only answer.' }] }] });
    },
  );
});

describe('the time of a recording', () => {
  /** Does not wait, and remembers how long it should have. */
  class PauseCounter extends SystemClock {
    readonly pauses: number[] = [];

    override async sleep(delayMs: number): Promise<void> {
      this.pauses.push(delayMs);
    }
  }

  let timed: RecordedSession;
  /** The same, with `timing: none` in its settings. */
  let untimed: RecordedSession;

  const begin = async (): Promise<RecordedSession> => {
    const begun = await RecordedSession.begin();
    const clock = new FakeClock();
    await begun.record(
      async (service, provider) => {
        provider.play(async function* () {
          clock.advance(300);
          yield text('One ');
          yield text('two ');
          clock.advance(20);
          yield [text('three '), text('four')];
          clock.advance(2000);
          yield { type: 'finish', reason: 'stop' };
        });
        await SSE_TRANSPORT.run(service, { model: 'scripted', input: 'Count.' });
      },
      { overrides: [[Clock, clock]] },
    );
    return begun;
  };

  beforeAll(async () => {
    timed = await begin();
    untimed = await begin();
    await untimed.changeSettings({ match: 'request', timing: 'none' });
  });

  afterAll(async () => {
    for (const used of [timed, untimed]) await used[Symbol.asyncDispose]();
  });

  const pausesOf = async (session: RecordedSession, environment: object, control = ''): Promise<readonly number[]> => {
    const clock = new PauseCounter();
    await using service = await session.replay({
      overrides: [[Clock, clock]],
      environment: { SIMULATOR_CONTROL: true, ...environment },
    });
    for (const transport of TRANSPORTS) {
      clock.pauses.length = 0;
      const { response } = await transport.run(service, askFor(control, { model: 'session', input: 'Count.' }));
      expect(response).toMatchObject({ output: [{ content: [{ text: 'One two three four' }] }] });
    }
    return clock.pauses;
  };

  it.each([
    ['is kept', {}, '', [300, 20, 2000]],
    ['is shortened by SIMULATOR_SPEED', { SIMULATOR_SPEED: '10' }, '', [30, 2, 200]],
    ['is shortened by the speed that a request asks for', {}, 'speed=2', [150, 10, 1000]],
    ['is stretched', { SIMULATOR_SPEED: '0.5' }, '', [600, 40, 4000]],
    ['is left out for a request that wants no latency', {}, 'latency=instant', []],
    ['gives way to the latency that a request asks for', {}, 'latency=50/10/0', [50, 10, 10, 10]],
    ['does not mix with that of the service', { SIMULATOR_LATENCY: '50/10/0' }, '', [300, 20, 2000]],
  ])('the time of a recording %s', async (_, environment, control, expected) => {
    expect(await pausesOf(timed, environment, control)).toEqual(expected);
  });

  it.each([
    ['left out', {}, []],
    ['that of the service', { SIMULATOR_LATENCY: '50/10/0' }, [50, 10, 10, 10]],
  ])('the time of a recording is %s with timing: none', async (_, environment, expected) => {
    expect(await pausesOf(untimed, environment)).toEqual(expected);
  });
});
