import { beforeAll, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import type { WireEvent } from '../../src/testing/index.js';
import { type SimulatorRequests, simulatorRequests, splitOutput, tokensOf } from '../support/simulator-requests.js';

const REASONING_MODELS = [
  ...['o1', 'o3', 'o4-mini', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano', 'gpt-5.1', 'gpt-5.2'],
] as const;
const ANSWERING_MODELS = ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'] as const;

/** The model that has the effort, and tokens of reasoning for each token of the answer. */
const EFFORTS = [
  ['none', 'gpt-5', 0],
  ['minimal', 'gpt-5', 0.5],
  ['low', 'o3', 1.5],
  ['medium', 'o3', 3],
  ['high', 'o3', 6],
  ['xhigh', 'gpt-5.2', 10],
] as const;

const service = useService({});
let simulator: SimulatorRequests;

beforeAll(() => {
  simulator = simulatorRequests(service);
});

describe('R3: output item types', () => {
  it('R3.1: the simulator answers with a message (ids are msg_ and 32 hex digits)', async () => {
    const { output, output_text: text } = await simulator.create();
    expect(output).toEqual([
      {
        type: 'message',
        id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      },
    ]);
    expect(text).toMatch(/\w+ \w+/);
  });

  it.each(REASONING_MODELS)('R3.2: the simulator reasons before the message: %s', async (model) => {
    const response = await simulator.create({ model });
    expect(response.output).toMatchObject([
      { type: 'reasoning', id: expect.stringMatching(/^rs_[0-9a-f]{32}$/), status: 'completed' },
      { type: 'message' },
    ]);
    expect(splitOutput(response).reasoning).toBeGreaterThan(0);
  });

  it.each([
    ...ANSWERING_MODELS.map((model) => ({ model })),
    { model: 'gpt-5', reasoning: { effort: 'none', summary: 'auto' } },
  ] as const)('R3.2: the simulator does not reason: %j', async (body) => {
    const response = await simulator.create(body);
    expect(response.output.map(({ type }) => type)).toEqual(['message']);
    expect(splitOutput(response).reasoning).toBe(0);
  });

  it.each(['auto', 'concise', 'detailed'] as const)(
    'R3.2.1: the simulator sums up when asked to: %s',
    async (summary) => {
      const { output } = await simulator.create({ model: 'o3', reasoning: { summary } });
      expect(output[0]).toMatchObject({ summary: [{ type: 'summary_text', text: expect.stringMatching(/\w+ \w+/) }] });
    },
  );

  it('R3.2.1: the simulator has no summary otherwise (summary is [] when not asked for)', async () => {
    const { output } = await simulator.create({ model: 'o3', reasoning: { effort: 'high' } });
    expect(output[0]).toMatchObject({ type: 'reasoning', summary: [] });
  });

  it.each([
    ['concise', 0.05],
    ['auto', 0.1],
    ['detailed', 0.15],
  ] as const)('R3.2.2: the simulator has words by the mode and the tokens of reasoning: %s', async (summary, share) => {
    for (const effort of ['high', 'xhigh'] as const) {
      const body = { model: 'gpt-5.2', reasoning: { effort, summary }, text: { verbosity: 'high' } } as const;
      const response = await simulator.create(body);
      const [item] = response.output;
      const words = item?.type === 'reasoning' ? (item.summary[0]?.text.split(/\s+/).length ?? 0) : 0;
      expect(Math.abs(words - share * splitOutput(response).reasoning)).toBeLessThanOrEqual(1);
    }
  });
});

describe('R4.3: reasoning configuration', () => {
  it.each(EFFORTS)('R4.3.1: the simulator thinks by the effort: %s', async (effort, model, multiplier) => {
    for (const input of ['Hello!', 'Which bridge is the oldest?', 'Tell me of the harbor.']) {
      const { reasoning, answer } = splitOutput(await simulator.create({ model, input, reasoning: { effort } }));
      expect(answer).toBeGreaterThan(10);
      expect(Math.abs(reasoning - multiplier * answer)).toBeLessThanOrEqual(1);
    }
  });

  it.each(REASONING_MODELS)('R4.3.1: the simulator thinks with medium effort when none is named: %s', async (model) => {
    const { reasoning, answer } = splitOutput(await simulator.create({ model }));
    expect(reasoning).toBe(3 * answer);
  });

  it.each([
    ['minimal', 'o3'],
    ['xhigh', 'gpt-5'],
    ['xhigh', 'gpt-5.1'],
    ['xhigh', 'o4-mini'],
  ])('R4.3.1: the simulator refuses an effort that the model does not have: %s for %s', async (effort, model) => {
    const answer = await simulator.post({ model, input: 'Hello!', reasoning: { effort } });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'unsupported_value' } } });
  });

  it('R4.3.2: the simulator counts reasoning tokens (output_tokens includes them)', async () => {
    const { usage, output_text: text } = await simulator.create({ model: 'o3', reasoning: { summary: 'auto' } });
    const answer = tokensOf(text);
    expect(usage).toMatchObject({
      output_tokens: 4 * answer,
      output_tokens_details: { reasoning_tokens: 3 * answer },
      total_tokens: (usage?.input_tokens ?? NaN) + 4 * answer,
    });
  });
});

describe('R6: usage statistics', () => {
  it('R6.1: the simulator counts input, output and reasoning', async () => {
    const { usage, output_text: text } = await simulator.create({ input: 'What is the capital of France?' });
    const input = usage?.input_tokens ?? NaN;
    expect(input).toBeGreaterThanOrEqual(tokensOf('What is the capital of France?'));
    expect(usage).toMatchObject({
      output_tokens: tokensOf(text),
      total_tokens: input + tokensOf(text),
      output_tokens_details: { reasoning_tokens: 0 },
    });
  });

  it('R6.1: the simulator counts the same in a stream, at its end', async () => {
    const events = await simulator.stream({ model: 'o3' });
    const { usage } = await simulator.create({ model: 'o3' });
    const snapshots = events.flatMap(({ response }) => (response === undefined ? [] : [response as WireEvent]));
    expect(snapshots.map((snapshot) => snapshot['usage'])).toEqual([null, null, usage]);
  });
});
