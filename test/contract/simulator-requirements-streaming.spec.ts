import { beforeAll, expect, it } from '@jest/globals';

import { describeService } from '../support/describe-service.js';
import type { WireEvent } from '../../src/testing/index.js';
import { outline, type SimulatorRequests, simulatorRequests } from '../support/simulator-requests.js';

const MESSAGE = ['response.output_item.added', 'response.content_part.added', 'response.output_text.delta'].concat([
  ...['response.output_text.done', 'response.content_part.done', 'response.output_item.done'],
]);
const START = ['response.created', 'response.in_progress'];
const END = ['response.completed'];

describeService('R5: streaming', {}, (service) => {
  let simulator: SimulatorRequests;

  beforeAll(() => {
    simulator = simulatorRequests(service);
  });

  const deltasOf = (events: readonly WireEvent[], type: string): readonly string[] =>
    events.flatMap((event) => (event.type === `${type}.delta` ? [event['delta'] as string] : []));

  it('R5.1: the simulator sends the events of a message in order', async () => {
    const events = await simulator.stream({});
    expect(outline(events)).toEqual([...START, ...MESSAGE, ...END]);
    const deltas = deltasOf(events, 'response.output_text');
    expect(deltas.length).toBeGreaterThan(5);
    const text = deltas.join('');
    expect(events.find(({ type }) => type === 'response.output_text.done')).toMatchObject({ text });
    expect(events.at(-1)).toMatchObject({ response: { output: [{ content: [{ text }] }], usage: expect.any(Object) } });
  });

  it('R5.1.1: the simulator sends the reasoning before the message', async () => {
    const events = await simulator.stream({ model: 'o3', reasoning: { summary: 'auto' } });
    expect(outline(events)).toEqual([
      ...START,
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      ...MESSAGE,
      ...END,
    ]);
    const added = events.filter(({ type }) => type === 'response.output_item.added');
    expect(added).toMatchObject([
      { output_index: 0, item: { type: 'reasoning' } },
      { output_index: 1, item: { type: 'message' } },
    ]);
    const messageStart = events.findIndex(({ item }) => (item as WireEvent | undefined)?.type === 'message');
    const indices = events.map(({ output_index: index }) => index).slice(START.length, -END.length);
    expect(indices).toEqual(indices.map((_, index) => (index + START.length < messageStart ? 0 : 1)));
    const deltas = deltasOf(events, 'response.reasoning_summary_text');
    expect(deltas.length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({ response: { output: [{ summary: [{ text: deltas.join('') }] }, {}] } });
  });

  it('R5.1.1: the simulator sends no summary that was not asked for', async () => {
    const events = await simulator.stream({ model: 'o3' });
    const reasoning = ['response.output_item.added', 'response.output_item.done'];
    expect(outline(events)).toEqual([...START, ...reasoning, ...MESSAGE, ...END]);
    expect(events.slice(2, 4)).toMatchObject(Array(2).fill({ output_index: 0, item: { type: 'reasoning' } }));
  });

  it('R5.2: the simulator frames each event with its type and JSON (and [DONE] after the last)', async () => {
    const answer = await fetch(simulator.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5', input: 'Tell me a story', stream: true }),
    });
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const frames = (await answer.text()).split('\n\n');
    expect(frames.splice(-2)).toEqual(['data: [DONE]', '']);
    expect(frames.length).toBeGreaterThan(10);
    for (const frame of frames) {
      const [, name, data] = /^event: (\S+)\ndata: (.+)$/.exec(frame) ?? [];
      expect(JSON.parse(data ?? 'null')).toMatchObject({ type: name });
    }
  });

  it('R5.3: the simulator numbers all events of a response from 0', async () => {
    const events = await simulator.stream({ model: 'gpt-5', reasoning: { summary: 'detailed' } });
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  });

  it('R5.4: the simulator has logprobs: [] in every delta and in the end of the text', async () => {
    const events = await simulator.stream({});
    const texts = events.filter(({ type }) => /^response\.output_text\.(?:delta|done)$/.test(type));
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.map(({ logprobs }) => logprobs)).toEqual(texts.map(() => []));
  });

  it('R5.5: the simulator has annotations: [] in every output_text part', async () => {
    const events = await simulator.stream({});
    const of = (type: string): WireEvent | undefined => events.find((event) => event.type === type);
    const part = { type: 'output_text', annotations: [] };
    for (const type of ['added', 'done']) expect(of(`response.content_part.${type}`)).toMatchObject({ part });
    expect(of('response.output_item.done')).toMatchObject({ item: { content: [part] } });
    expect(of('response.completed')).toMatchObject({ response: { output: [{ content: [part] }] } });
  });
});
