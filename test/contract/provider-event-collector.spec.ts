import { beforeAll, describe, expect, it } from '@jest/globals';

import { EventCollector, EventOrderError, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';

const BODY = { model: 'scripted', input: 'How is the weather?', stream: true } as const;

describe(EventCollector.name, () => {
  const service = useService({ providers: [ScriptedProvider] });

  beforeAll(() => {
    service.app.get(ScriptedProvider).otherwise(async function* () {
      yield { type: 'reasoning_summary', delta: 'First this.', part: 0 };
      yield { type: 'reasoning_summary', delta: 'Then that.', part: 1 };
      yield { type: 'reasoning', delta: 'Hm.' };
      yield { type: 'text', delta: 'Let me ' };
      yield { type: 'text', delta: 'look.' };
      yield { type: 'refusal', delta: 'I may not say more.' };
      yield { type: 'function_call', name: 'look', callId: 'call_1' };
      yield { type: 'function_call_arguments', delta: '{}' };
      yield { type: 'custom_tool_call', name: 'note', callId: 'call_2' };
      yield { type: 'custom_tool_call_input', delta: 'rain' };
      yield { type: 'usage', input: 3, output: 4 };
      yield { type: 'finish', reason: 'stop' };
    });
  });

  const post = (body: object): Promise<Response> =>
    fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const expectEverything = (collector: EventCollector): void => {
    expect(collector.types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    expect(collector.types.at(-1)).toBe('response.completed');
    expect(collector.ended).toBe(true);
    expect(collector.text).toBe('Let me look.');
    expect(collector.refusal).toBe('I may not say more.');
    expect(collector.reasoning).toBe('Hm.');
    expect(collector.reasoningSummary).toBe('First this.\n\nThen that.');
    expect(collector.calls).toMatchObject([
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'note', input: 'rain' },
    ]);
    expect(collector.response).toMatchObject({ status: 'completed', usage: { input_tokens: 3, output_tokens: 4 } });
  };

  it('EventCollector collects the answer of fetch', async () => {
    expectEverything(await EventCollector.collect(await post(BODY)));
  });

  it('EventCollector collects what the SDK streams', async () => {
    expectEverything(await EventCollector.collect(await service.client().responses.create(BODY)));
  });

  it('EventCollector collects what the helper of the SDK streams', async () => {
    const { stream: _, ...body } = BODY;
    expectEverything(await EventCollector.collect(service.client().responses.stream(body)));
  });

  it('EventCollector collects a stream without padding when it is told so', async () => {
    const body = { ...BODY, stream_options: { include_obfuscation: false } };
    expectEverything(await EventCollector.collect(await post(body), { obfuscated: false }));
    await expect(EventCollector.collect(await post(body))).rejects.toThrow('obfuscation is missing');
  });

  it('EventCollector takes messages of a socket one by one', async () => {
    await using socket = await SocketClient.open(service);
    socket.create({ input: 'How is the weather?' });
    const collector = new EventCollector({ transport: 'ws' });
    expect(() => collector.response).toThrow(EventOrderError);
    while (!collector.ended) collector.accept(await socket.next());
    expectEverything(collector);
  });

  it('EventCollector says what came instead of a stream', async () => {
    const refused = EventCollector.collect(await post({ ...BODY, temperature: 7 }));
    await expect(refused).rejects.toThrow(
      /^HTTP 400 with application\/json.* instead of a stream of events: .*temperature/,
    );
  });

  it('EventCollector names the rule that a stream breaks, and where', async () => {
    const { events } = await EventCollector.collect(await post(BODY));
    const broken = EventCollector.collect(events.toSpliced(5, 1));
    await expect(broken).rejects.toThrow(EventOrderError);
    await expect(broken).rejects.toMatchObject({
      position: 5,
      event: events[6],
      rule: expect.stringContaining('sequence_number must be 5'),
    });
  });

  it('EventCollector names the rule that a stream breaks that does not end', async () => {
    const { events } = await EventCollector.collect(await post(BODY));
    const broken = EventCollector.collect(events.slice(0, -1));
    await expect(broken).rejects.toMatchObject({ position: null, rule: 'the stream must end with a terminal event' });
  });

  it('EventCollector notices an answer that breaks off', async () => {
    const text = await (await post(BODY)).text();
    const headers = { 'content-type': 'text/event-stream; charset=utf-8' };
    const cut = (end: number): Promise<EventCollector> =>
      EventCollector.collect(new Response(text.slice(0, end), { headers }));
    expectEverything(await cut(text.length));
    await expect(cut(-'data: [DONE]\n\n'.length)).rejects.toThrow('must end with [DONE]');
    await expect(cut(-1)).rejects.toThrow('must end with a whole frame');
  });
});
