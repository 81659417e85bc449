import { beforeEach, describe, expect, it } from '@jest/globals';

import { type FinishedPass, ModelError, type ModelEvent, type TurnPolicy } from '../../src/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { BackgroundLog, LogSink } from '../support/background-attempts.js';
import { useService } from '../support/describe-service.js';
import { readWithSdk } from '../support/sdk-stream.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

const MAX_PASSES = 3;

const say = (delta: string): ModelEvent => ({ type: 'text', delta });
const ask = (name: string, callId: string): readonly ModelEvent[] => [
  { type: 'function_call', name, callId },
  { type: 'function_call_arguments', delta: '{}' },
];
const usage = (output: number): ModelEvent => ({ type: 'usage', input: 10, output });
const named = (upstreamId: string): ModelEvent => ({ type: 'metadata', upstreamId });
const end: ModelEvent = { type: 'end' };

describe('a background turn whose process died', () => {
  const policy = new TestPolicy();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [policy.asModule()],
    environment: { MAX_PASSES },
  });
  let decisions: FinishedPass[];

  /** Runs the weather tool. */
  const weather = (): TurnPolicy => ({
    answer: (pass) => {
      decisions.push(pass);
      return runTools('weather').answer?.(pass);
    },
  });

  beforeEach(() => {
    policy.follow = () => undefined;
    decisions = [];
    service.provider.turns.length = 0;
  });

  /** The contexts that the models after the first so many were given, as types. */
  const contextsAfter = (count: number): readonly unknown[] =>
    service.provider.turns.slice(count).map(({ context }) => context.map(({ type }) => type));

  /** Runs a response that ends with these answers, and then on from a place in its log. */
  const rerun = async (
    cut: (log: BackgroundLog) => BackgroundLog,
    answers: readonly (readonly ModelEvent[])[],
    later: readonly (readonly ModelEvent[])[] = [],
    request: Parameters<typeof BackgroundLog.queue>[1] = {},
  ): Promise<BackgroundLog> => {
    for (const answer of answers) service.provider.reply(...answer);
    const before = cut(await BackgroundLog.queue(service, request).run());
    decisions.length = 0;
    service.provider.turns.length = 0;
    for (const answer of later) service.provider.reply(...answer);
    const after = await before.run();
    checkEventOrder(after.wire, { transport: 'ws' });
    return after;
  };

  it.each(['response.queued', 'response.in_progress', 'pass', 'origin'])(
    'a background turn whose process died runs as if for the first time when nothing came after %s',
    async (last) => {
      const answer = [say('Hello')];
      const after = await rerun((log) => log.upTo(last), [answer], [answer]);
      const whole = await rerun((log) => log.cut(2), [answer], [answer]);
      expect(after.events.map(({ type }) => type)).toEqual(whole.events.map(({ type }) => type));
      expect(after.texts).toEqual(['Hello']);
      expect(contextsAfter(0)).toEqual([['message']]);
      expect(after.notes.filter(({ type }) => type === 'pass')).toHaveLength(1);
    },
  );

  it('the attempt after a crash closes a half-written message, leaves it out and asks the model again', async () => {
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('response.output_text.delta');
    const after = await rerun(cut, [[say('Hel'), say('lo')]], [[say('Hello again')]]);
    expect(after.texts).toEqual(['Hello again']);
    const done = after.wire.filter(({ type }) => type === 'response.output_item.done');
    expect(done).toMatchObject([
      { output_index: 0, item: { status: 'incomplete', content: [{ text: 'Hel' }] } },
      { output_index: 1, item: { status: 'completed', content: [{ text: 'Hello again' }] } },
    ]);
    expect(contextsAfter(0)).toEqual([['message']]);
  });

  it('the attempt after a crash gives a call another id when the model uses that of a half-written one again', async () => {
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('response.function_call_arguments.delta');
    const after = await rerun(cut, [ask('look', 'call_1')], [ask('look', 'call_1')]);
    expect(after.response.output).toMatchObject([{ type: 'function_call', arguments: '{}' }]);
    expect(after.response.output[0]?.call_id).not.toBe('call_1');
    const { output } = await readWithSdk(after.events);
    expect(output.map(({ id }) => id)).toEqual(after.response.output.map(({ id }) => id));
  });

  it('the attempt after a crash keeps what was finished, and gives it to the model', async () => {
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('response.output_text.delta', 2);
    const after = await rerun(cut, [[say('One.'), end, say('Tw')]], [[say('Two.')]]);
    expect(after.texts).toEqual(['One.', 'Two.']);
    expect(contextsAfter(0)).toEqual([['message', 'message']]);
    expect(service.provider.turns[0]?.parent).toMatchObject({ responseId: after.response.id });
  });

  it.each([
    ['length', 'incomplete', { reason: 'max_output_tokens' }],
    ['content_filter', 'incomplete', { reason: 'content_filter' }],
    ['stop', 'completed', null],
  ] as const)(
    'the attempt after a crash does not ask a model again that had ended with %s',
    async (reason, status, details) => {
      const answer = [say('Hello'), usage(3), { type: 'finish', reason } as const];
      const { response } = await rerun((log) => log.upTo('finish'), [answer]);
      expect(response).toMatchObject({ status, incomplete_details: details, usage: { output_tokens: 3 } });
      expect(response.output).toMatchObject([{ status, content: [{ text: 'Hello' }] }]);
      expect(service.provider.turns).toHaveLength(0);
    },
  );

  it('the attempt after a crash counts the tokens of a pass that ended without usage', async () => {
    const { response } = await rerun((log) => log.upTo('finish'), [[say('Hello')]]);
    expect(response.usage?.output_tokens).toBeGreaterThan(0);
  });

  it('the attempt after a crash asks the policies about a pass that had ended, and goes on', async () => {
    policy.follow = weather;
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('finish');
    const after = await rerun(cut, [ask('weather', 'call_1'), [say('Sunny.')]], [[say('Sunny.')]]);
    expect(decisions).toMatchObject([{ number: 1, output: [{ call_id: 'call_1' }] }, { number: 2 }]);
    expect(after.texts).toEqual(['{}', 'Sunny.']);
    expect(contextsAfter(0)).toEqual([['message', 'function_call', 'function_call_output']]);
  });

  it.each([
    ['given', 1],
    ['pass', 2],
    ['origin', 3],
  ])('the attempt after a crash does not ask the policies again once %s is logged', async (last, which) => {
    policy.follow = weather;
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo(last, which);
    const answer = [...ask('weather', 'call_1'), named('up_1')];
    const after = await rerun(cut, [answer, [say('Sunny.')]], [[say('Sunny.')]]);
    expect(decisions).toMatchObject([{ number: 2 }]);
    expect(after.texts).toEqual(['{}', 'Sunny.']);
    expect(service.provider.turns).toMatchObject([
      { input: [{ type: 'function_call_output' }], parent: { origin: { upstreamId: 'up_1' } } },
    ]);
  });

  it('the attempt after a crash logs its begin, what policies gave and what the model is asked, before the model answers', async () => {
    policy.follow = weather;
    const sink = new LogSink();
    const seen: unknown[] = [];
    for (const answer of [ask('weather', 'call_1'), [say('Sunny.')]]) {
      service.provider.play(async function* () {
        seen.push(sink.entries.slice(-3).map(({ type }) => type));
        yield* answer;
        yield { type: 'finish', reason: 'stop' };
      });
    }
    await BackgroundLog.queue(service).run(sink);
    expect(seen).toEqual([
      ['response.in_progress', 'pass', 'asked'],
      ['given', 'pass', 'asked'],
    ]);
  });

  it('the attempt after a crash keeps what policies gave at its place behind what was left out', async () => {
    policy.follow = weather;
    const half = [say('Let me'), say(' see')];
    service.provider
      .reply(...half)
      .reply(...ask('weather', 'call_1'))
      .reply(say('Sunny.'), end, ...half);
    service.provider.reply(...half).reply(say('!'));
    const first = (await BackgroundLog.queue(service).run()).upTo('response.output_text.delta');
    const second = (await first.run()).upTo('response.output_text.delta', 3);
    const third = (await second.run()).upTo('response.output_text.delta', 4);
    service.provider.turns.length = 0;
    const last = await third.run();
    expect(last.texts).toEqual(['{}', 'Sunny.', '!']);
    expect(contextsAfter(0)).toEqual([['message', 'function_call', 'function_call_output', 'message']]);
  });

  it('the attempt after a crash completes with the calls that only the client can answer, without asking the model', async () => {
    policy.follow = weather;
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('response.output_text.delta');
    const after = await rerun(cut, [[...ask('look', 'call_1'), say('half'), say(' and half')]]);
    expect(after.response).toMatchObject({ status: 'completed', output: [{ call_id: 'call_1' }] });
    expect(service.provider.turns).toHaveLength(0);
  });

  it('the attempt after a crash completes with the calls of the client also when the server had answered the others', async () => {
    policy.follow = weather;
    const answer = [...ask('weather', 'call_1'), ...ask('look', 'call_2')];
    const after = await rerun((log) => log.upTo('given'), [answer]);
    expect(after.response.output).toMatchObject([{ call_id: 'call_1' }, { call_id: 'call_2' }]);
    expect(decisions).toHaveLength(0);
    expect(service.provider.turns).toHaveLength(0);
  });

  it('the attempt after a crash lets policies answer the whole calls of a pass that did not end', async () => {
    policy.follow = weather;
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('response.output_item.added', 2);
    const answer = [...ask('weather', 'call_1'), ...ask('weather', 'call_2')];
    const after = await rerun(cut, [answer, [say('Sunny.')]], [[say('Sunny.')]]);
    expect(after.response.output).toMatchObject([{ call_id: 'call_1' }, { type: 'message' }]);
    expect(contextsAfter(0)).toEqual([['message', 'function_call', 'function_call_output']]);
  });

  it('the attempt after a crash does not continue an upstream response that was cut', async () => {
    const answer = [named('up_1'), say('One.'), end, say('Tw')];
    await rerun((log) => log.upTo('response.output_text.delta', 2), [answer], [[say('Two.')]]);
    expect(service.provider.turns[0]?.parent?.origin).toEqual({ provider: 'scripted' });
  });

  it('the attempt after a crash counts the usage of the pass that was cut', async () => {
    const answer = [usage(3), say('Hello')];
    const { response } = await rerun((log) => log.upTo('response.output_text.delta'), [answer], [answer]);
    expect(response.usage).toMatchObject({ input_tokens: 20, output_tokens: 6 });
  });

  it('the attempt after a crash counts the usage of the cut pass also when there was nothing else, and the next model reports none', async () => {
    const answer = [usage(3), say('Hello')];
    const { response } = await rerun((log) => log.upTo('usage'), [answer], [[say('Hello')]]);
    expect(response.usage?.output_tokens).toBeGreaterThan(3);
  });

  it('the attempt after a crash counts passes and tool calls over all attempts', async () => {
    policy.follow = weather;
    const cut = (log: BackgroundLog): BackgroundLog => log.upTo('finish', 2);
    const calls = [1, 2, 3].map((count) => ask('weather', `call_${count}`));
    const { response } = await rerun(cut, calls.slice(0, 3), calls.slice(2, 3));
    expect(response.output).toHaveLength(MAX_PASSES);
    service.provider.turns.length = 0;
    const bounded = await rerun(cut, calls.slice(0, 2), [], { max_tool_calls: 1 });
    expect(bounded.response.output).toHaveLength(2);
    expect(decisions).toHaveLength(0);
  });

  it('an attempt fails, the first one too, when its model refuses', async () => {
    service.provider.play(async function* () {
      yield* [];
      throw new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429 });
    });
    const log = await BackgroundLog.queue(service).run();
    expect(log.response).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } });
    checkEventOrder(log.wire, { transport: 'ws' });
  });
});
