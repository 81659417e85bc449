import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';

import { simulatedTurn } from '../../test/support/simulated-turn.js';
import type { Item } from '../protocol/index.js';
import { Clock, SystemClock } from '../time/index.js';
import { countItemTokens, countSettingsTokens, countTokens, type ModelEvent, type Turn } from '../providers/index.js';
import { SimulatorOptions, SimulatorProvider } from './index.js';

const user = (content: unknown): Item => ({ type: 'message', id: 'msg_1', role: 'user', content });
const output: Item = { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'Sunny' };
const ALONE = { alone: true };
const EFFORTS = { minimal: 0.5, low: 1.5, medium: 3, high: 6, xhigh: 10, max: 10 };

describe(SimulatorProvider.name, () => {
  it('the simulator is injected with its options and a clock', async () => {
    const module = await Test.createTestingModule({
      providers: [
        SimulatorProvider,
        { provide: SimulatorOptions, useValue: new SimulatorOptions({ seed: 7 }) },
        { provide: Clock, useClass: SystemClock },
      ],
    }).compile();
    const result = await collect(module.get(SimulatorProvider), turnOf({}));
    expect(result.text).toBe((await run({}, 7)).text);
  });

  it('the simulator lists its models, and serves any other name', async () => {
    const provider = new SimulatorProvider(new SimulatorOptions(), new SystemClock());
    const models = await provider.models();
    expect(models.map(({ id }) => id)).toEqual([
      ...['gpt-5.2', 'gpt-5.1', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'],
      ...['o4-mini', 'o3', 'o3-mini', 'o1', 'simulator'],
    ]);
    for (const model of models) expect(provider.find(model.id, ALONE)).toEqual(model);
    expect(provider.find('gpt-4.1', ALONE)?.reasoningEfforts).toEqual([]);
    expect(provider.find('gpt-5-2025-08-07', ALONE)?.reasoningEfforts).toContain('minimal');
    expect(provider.find('my-own-model', ALONE)).toMatchObject({ id: 'my-own-model' });
    expect(provider.find('my-own-model', ALONE)?.reasoningEfforts).toBeUndefined();
    expect(provider.find('', ALONE)).toBeUndefined();
  });

  describe('text', () => {
    it('simulated text is prose of twenty to sixty tokens in several deltas', async () => {
      for (let seed = 1; seed <= 30; seed++) {
        const { text, events, reason } = await run({}, seed);
        expect(text).toMatch(/^([A-Z][a-z]+,? ?[a-z ,]*\. ?)+$/);
        expect(countTokens(text)).toBeGreaterThanOrEqual(20);
        expect(countTokens(text)).toBeLessThanOrEqual(70);
        expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(10);
        expect(reason).toBe('stop');
      }
    });

    it('simulated text follows verbosity', async () => {
      const [low, high] = await Promise.all(['low', 'high'].map((verbosity) => run({ text: { verbosity } })));
      expect(countTokens(low?.text ?? '')).toBeLessThan(countTokens(high?.text ?? ''));
    });

    it('simulated text is the same for the same request and seed, and another one otherwise', async () => {
      const texts = await Promise.all([
        run({}),
        run({}),
        run({}, 2),
        run({ model: 'gpt-4.1-mini' }),
        run({}, 1, [user('Hi.')]),
        run({}, 1, [user([{ type: 'input_text', text: 'Ho.' }])]),
        run({}, 1, [user('Hello.'), output]),
      ]);
      expect(texts[1]).toEqual(texts[0]);
      expect(new Set(texts.map(({ text }) => text)).size).toBe(texts.length - 1);
    });

    it('simulated text does not depend on ids', async () => {
      const other = await run({}, 1, [{ ...user('Hello.'), id: 'msg_2' }]);
      expect(other.text).toBe((await run({})).text);
    });

    it('simulated text is a JSON object for json_object', async () => {
      const { text, events } = await run({ text: { format: { type: 'json_object' } } });
      expect(JSON.parse(text)).toEqual({
        answer: expect.any(String),
        topic: expect.any(String),
        count: expect.any(Number),
      });
      expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(3);
    });

    it('simulated text never tears a character apart', async () => {
      const value = 'né 漢字 😀👍🏽 👩‍👩‍👧‍👦 हिन्दी e\u0301\u0302';
      const schema = { const: value.repeat(3) };
      const { text, events } = await run({ text: { format: { type: 'json_schema', name: 'x', schema } } });
      expect(JSON.parse(text)).toBe(schema.const);
      const boundaries = new Set([...new Intl.Segmenter().segment(text)].map(({ index }) => index).concat(text.length));
      let position = 0;
      for (const event of events)
        if (event.type === 'text') expect(boundaries).toContain((position += event.delta.length));
    });
  });

  describe('reasoning', () => {
    it.each(Object.entries(EFFORTS))('reasoning spends tokens by the effort: %s', async (effort, multiplier) => {
      const { usage, text } = await run({ model: 'gpt-5', reasoning: { effort } });
      expect(usage.reasoning).toBe(Math.ceil(multiplier * countTokens(text)));
      expect(usage.output).toBe(Number(usage.reasoning) + countTokens(text));
    });

    it.each(['o3', 'o4-mini', 'o1-pro', 'gpt-5', 'gpt-5.2-codex', 'gpt-6'])(
      'reasoning is what %s does, unasked',
      async (model) => {
        const { kinds, usage } = await run({ model });
        expect(kinds).toEqual(['reasoning_open', 'reasoning_encrypted', 'text', 'usage', 'finish']);
        expect(usage.reasoning).toBe((3 * Number(usage.output)) / 4);
      },
    );

    it.each([
      { model: 'gpt-4.1', reasoning: { effort: 'high' } },
      { model: 'olive', reasoning: null },
      { model: 'gpt-5', reasoning: { effort: 'none', summary: 'auto' } },
    ])('reasoning is left out for %j', async (settings) => {
      const { kinds, usage } = await run(settings);
      expect(kinds).toEqual(['text', 'usage', 'finish']);
      expect(usage.reasoning).toBe(0);
    });

    it.each([['concise', 0.05] as const, ['auto', 0.1] as const, ['detailed', 0.15] as const])(
      'reasoning is summed up when asked: %s',
      async (summary, share) => {
        const { kinds, events, usage } = await run({ model: 'o3', reasoning: { effort: 'high', summary } });
        expect(kinds).toEqual([
          'reasoning_open',
          'reasoning_summary',
          'reasoning_encrypted',
          'text',
          'usage',
          'finish',
        ]);
        const deltas = events.flatMap((event) => (event.type === 'reasoning_summary' ? [event.delta] : []));
        expect(deltas.length).toBeGreaterThan(3);
        expect(deltas.join('').split(' ')).toHaveLength(Math.max(6, Math.round(share * Number(usage.reasoning))));
      },
    );

    it('reasoning comes before a call as well', async () => {
      const { kinds } = await run({ model: 'o3', tools: [functionTool('act')] });
      expect(kinds.slice(0, 4)).toEqual([
        'reasoning_open',
        'reasoning_encrypted',
        'function_call',
        'function_call_arguments',
      ]);
    });
  });

  describe('max_output_tokens', () => {
    const tools = [
      functionTool('act', {
        type: 'object',
        properties: { a: { type: 'integer' }, b: { type: 'string' } },
        required: ['a', 'b'],
      }),
    ];
    it.each([
      { model: 'gpt-4.1' },
      { model: 'o3', reasoning: { effort: 'low', summary: 'auto' } },
      { model: 'gpt-4.1', tools },
      { model: 'gpt-5', tools },
      { model: 'gpt-4.1', text: { format: { type: 'json_object' } } },
    ])('max_output_tokens cuts exactly there: %j', async (settings) => {
      const whole = await run(settings);
      const total = Number(whole.usage.output);
      for (let limit = 1; limit <= total + 2; limit++) {
        const { text, input, usage, reason, kinds } = await run({ ...settings, max_output_tokens: limit });
        expect(usage.output).toBe(Math.min(limit, total));
        expect(usage.reasoning).toBe(Math.min(limit, Number(whole.usage.reasoning)));
        expect(countTokens(text + input)).toBe(Number(usage.output) - Number(usage.reasoning));
        expect(reason).toBe(limit < total ? 'length' : 'stop');
        expect((whole.text + whole.input).startsWith(text + input)).toBe(true);
        const thoughtOnly = limit <= Number(whole.usage.reasoning);
        expect(kinds.some((kind) => kind === 'text' || kind === 'function_call')).toBe(!thoughtOnly);
      }
    });
  });

  describe('usage', () => {
    it('usage counts what the model read, and grows with the history', async () => {
      const context = [
        user('Hello.'),
        { type: 'message', id: 'msg_2', role: 'assistant', content: 'Hi.' },
        user('And?'),
      ];
      const turn = turnOf({ instructions: 'Be brief.', tools: [functionTool('act')] }, context);
      const { usage } = await collect(provide(1), turn);
      expect(usage.input).toBe((await countItemTokens(context)) + (await countSettingsTokens(turn.settings)));
      expect(usage.cached).toBe(0);
      expect(usage.input).toBeGreaterThan(Number((await run({ instructions: 'Be brief.' })).usage.input));
    });
  });

  describe('events', () => {
    /** More tokens than two batches have. */
    const talkative = (): SimulatorProvider =>
      new SimulatorProvider(new SimulatorOptions({ generator: 'fixed', text: 'word '.repeat(200) }), new SystemClock());

    it('the events of a turn come in batches, the usage and the finish last', async () => {
      const batches = [];
      for await (const batch of talkative().generate(turnOf({}), live())) batches.push(batch);
      expect(batches.length).toBeGreaterThan(3);
      expect(batches.every(({ length }) => length > 0 && length <= 64)).toBe(true);
      expect(batches.at(-1)?.map(({ type }) => type)).toEqual(['usage', 'finish']);
      for (const event of batches.flat()) if ('delta' in event) expect(event.delta).not.toBe('');
    });

    it('the events of a turn stop when the signal aborts', async () => {
      const controller = new AbortController();
      const events: ModelEvent[] = [];
      for await (const batch of talkative().generate(turnOf({}), { signal: controller.signal })) {
        events.push(...batch);
        controller.abort();
      }
      expect(events).toHaveLength(64);
      expect((await collect(talkative(), turnOf({}), { signal: controller.signal })).events).toEqual([]);
    });

    it('the events of a turn stop when the signal aborts between two batches', async () => {
      const controller = new AbortController();
      const iterator = talkative().generate(turnOf({}), { signal: controller.signal });
      await iterator.next();
      const next = iterator.next();
      setImmediate(() => {
        controller.abort();
      });
      await next;
      await expect(iterator.next()).resolves.toEqual({ done: true, value: undefined });
    });

    it('the events of a turn stop when the signal aborts before the usage', async () => {
      const whole = [];
      for await (const batch of provide(1).generate(turnOf({}), live())) whole.push(batch);
      const controller = new AbortController();
      const batches = [];
      for await (const batch of provide(1).generate(turnOf({}), { signal: controller.signal })) {
        batches.push(batch);
        if (batches.length === whole.length - 1) controller.abort();
      }
      expect(batches).toEqual(whole.slice(0, -1));
    });

    it('the events of several turns share the process', async () => {
      const order: number[] = [];
      const follow = async (id: number): Promise<void> => {
        for await (const batch of talkative().generate(turnOf({}), live())) order.push(batch.length > 0 ? id : 0);
      };
      await Promise.all([follow(1), follow(2)]);
      expect(order.slice(0, 4)).toEqual([1, 2, 1, 2]);
    });

    it('the events of a turn wait for the clock when a delay is asked for, one delta at a time', async () => {
      const clock = new CountingClock();
      const provider = new SimulatorProvider(
        new SimulatorOptions({ latency: { firstTokenMs: 40, perTokenMs: 40, spread: 0 } }),
        clock,
      );
      const batches = [];
      for await (const batch of provider.generate(turnOf({}), live())) batches.push(batch);
      expect(batches.slice(0, -1).every(({ length }) => length === 1)).toBe(true);
      expect(clock.sleeps).toEqual(Array(batches.length - 1).fill(40));
      const texts = batches.flat().flatMap((event) => (event.type === 'text' ? [event.delta] : []));
      expect(texts.join('')).toBe((await run({})).text);
    });
  });
});

class CountingClock extends SystemClock {
  readonly sleeps: number[] = [];

  override async sleep(delayMs: number): Promise<void> {
    this.sleeps.push(delayMs);
  }
}

interface Result {
  readonly events: readonly ModelEvent[];
  /** Event types in order, each once for a run of it. */
  readonly kinds: readonly string[];
  readonly text: string;
  /** Arguments or input of a call. */
  readonly input: string;
  readonly usage: Partial<Extract<ModelEvent, { type: 'usage' }>>;
  readonly reason: string | undefined;
}

function functionTool(name: string, parameters: unknown = null): object {
  return { type: 'function', name, parameters, strict: false };
}

function turnOf(over: object, context: readonly Item[] = [user('Hello.')]): Turn {
  return simulatedTurn(over, context);
}

function provide(seed: number): SimulatorProvider {
  return new SimulatorProvider(new SimulatorOptions({ seed }), new SystemClock());
}

function live(): { readonly signal: AbortSignal } {
  return { signal: new AbortController().signal };
}

function run(over: object, seed = 1, context?: readonly Item[]): Promise<Result> {
  return collect(provide(seed), turnOf(over, context));
}

async function collect(provider: SimulatorProvider, turn: Turn, options = live()): Promise<Result> {
  const events: ModelEvent[] = [];
  for await (const batch of provider.generate(turn, options)) events.push(...batch);
  const join = (...types: readonly string[]): string =>
    events.map((event) => (types.includes(event.type) && 'delta' in event ? event.delta : '')).join('');
  return {
    events,
    kinds: events.map(({ type }) => type).filter((type, index, types) => type !== types[index - 1]),
    text: join('text'),
    input: join('function_call_arguments', 'custom_tool_call_input'),
    usage: events.find((event) => event.type === 'usage') ?? {},
    reason: events.find((event) => event.type === 'finish')?.reason,
  };
}
