import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import {
  ask,
  shareTimedService,
  startTimedService,
  type TimedService,
} from '../support/responses-upstream/start-responses-service.js';
import { functionCall, message, type UpstreamItem, upstreamId } from '../support/responses-upstream/items.js';
import {
  refusing,
  type Reply,
  type Responder,
  saying,
  type Step,
  streaming,
} from '../support/responses-upstream/reply.js';
import { created, itemEvents, toEvents, type UpstreamEvent } from '../support/responses-upstream/to-events.js';
import { textOf } from '../support/output.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const use = (entry: Readonly<Record<string, unknown>>): ReturnType<typeof useService<TimedService>> =>
  useService(() => startTimedService({ entry: { stream_max_retries: 0, request_max_retries: 0, ...entry } }));

const SSE = {};
const WEBSOCKET = { supports_websockets: true };
const FEBRUARY = { profile: 'codex-2026-02', features: { responses_websockets: true } };

const completed = (id: string): UpstreamEvent => ({ type: 'response.completed', response: { id } });

const between =
  (...steps: readonly Step[]) =>
  (events: readonly UpstreamEvent[]): readonly Step[] =>
    events.flatMap((event) => [event, ...steps]);

describe.each([
  ['SSE', SSE],
  ['WebSocket', WEBSOCKET],
] as const)('§3.2 events over %s', (_, entry) => {
  const service = use(entry);

  const textAfter = async (reply: Reply | Responder): Promise<string> => {
    service.upstream.respond(reply);
    return textOf((await ask(service)).response);
  };

  it.each<[what: string, steps: readonly Step[]]>([
    ['that nobody knows', [{ type: 'response.of_tomorrow', delta: 'x' }]],
    ['without a type', [{ raw: '{"delta":"x"}' }]],
    ['whose type is no text', [{ raw: '{"type":7}' }]],
    ['that are no JSON', [{ raw: '{"type":"response.output_text.delta","del' }]],
    ['that are no objects', [{ raw: '[]' }, { raw: 'null' }, { raw: '7' }]],
    ['that keep the connection alive', [{ type: 'keepalive' }, { type: 'ping' }, { comment: 'hm' }]],
    ['whose item is no item', [{ type: 'response.output_item.added', output_index: 9, item: 'none' }]],
    ['whose item has no type', [{ type: 'response.output_item.done', output_index: 9, item: { id: 'x' } }]],
    ['that miss what they need', [{ type: 'response.output_text.delta' }, { type: 'response.output_item.added' }]],
    ['of no item', [{ type: 'response.web_search_call.searching', item_id: 'ws_none', output_index: 40 }]],
  ])('events %s are ignored', async (what, steps) => {
    expect(await textAfter(saying(between(...steps)))).toBe('Hello');
  });

  it.each(['each', 'together', 'bytes'] as const)('events are read however they are packed: %s', async (packing) => {
    expect(await textAfter(saying((events) => events, { packing }))).toBe('Hello');
  });

  it('events may be no more than the end of an item and of the answer', async () => {
    const call = functionCall('get_weather', { city: 'Paris' });
    const items = [message('Hello'), call];
    service.upstream.respond(({ responseId }) =>
      streaming([
        ...items.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
        completed(responseId),
      ]),
    );
    const { response, events = [] } = await ask(service);
    expect(response['output']).toMatchObject(items);
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe('Hello');
  });

  it('events may be no more than the end of the answer, with its items', async () => {
    const output = [message('Hello')];
    expect(
      await textAfter(({ responseId }) =>
        streaming([{ type: 'response.completed', response: { id: responseId, output } }]),
      ),
    ).toBe('Hello');
  });

  it('events may lack response.created', async () => {
    expect(await textAfter(saying((events) => events.slice(2)))).toBe('Hello');
  });

  it('events may number items and parts as they like', async () => {
    const item: UpstreamItem = message('Hello');
    expect(
      await textAfter(({ responseId }) =>
        streaming([created(responseId), ...itemEvents(item, 7), completed(responseId)]),
      ),
    ).toBe('Hello');
  });

  it('events end with response.completed: what comes behind it belongs to no one', async () => {
    const stray = itemEvents(message('stray'), 1);
    expect(await textAfter(saying((events) => [...events, ...stray]))).toBe('Hello');
    expect(textOf((await ask(service)).response)).toBe('ok');
  });
});

describe.each([
  ['SSE', SSE],
  ['WebSocket', WEBSOCKET],
] as const)('§3.2 response.done over %s', (_, transport) => {
  const done = (events: readonly UpstreamEvent[]): readonly Step[] =>
    events.map((event) => (event.type === 'response.completed' ? { ...event, type: 'response.done' } : event));

  it('response.done ends a response like response.completed (codex-2026-02)', async () => {
    await using service = await loadTimed({ entry: { ...transport, ...FEBRUARY } });
    service.upstream.respond(saying(done));
    expect(textOf((await ask(service)).response)).toBe('Hello');
  });

  it('response.done ends an answer also without a response (codex-2026-02)', async () => {
    await using service = await loadTimed({ entry: { ...transport, ...FEBRUARY } });
    service.upstream.respond(saying((events) => [...events.slice(0, -1), { type: 'response.done' }]));
    expect(textOf((await ask(service)).response)).toBe('Hello');
    // There is nothing that the next request could build on.
    await ask(service);
    expect(service.upstream.lastCall.body.type ?? 'response.create').toBe('response.create');
  });

  it('response.done is ignored (codex-2026-11)', async () => {
    await using service = await loadTimed({ entry: { ...transport, stream_max_retries: 0 } });
    service.upstream.respond(saying((events) => [{ type: 'response.done' }, ...events]));
    expect(textOf((await ask(service)).response)).toBe('Hello');
  });
});

describe('§3.2 events in another form than that of SSE', () => {
  const service = use(SSE);

  it.each<[form: string, write: (event: string) => string]>([
    ['a line of JSON each', (event) => `${event}\n`],
    ['the name of the field twice', (event) => `data: data: ${event}\n\n`],
  ])('events are read with %s', async (_, write) => {
    service.upstream.respond(({ responseId }) => {
      const body = toEvents(responseId, [message('Hello')]).map((event) => write(JSON.stringify(event)));
      return refusing(200, body.join(''));
    });
    expect(textOf((await ask(service)).response)).toBe('Hello');
  });
});

describe('§4.3 pings of the upstream', () => {
  const service = use(WEBSOCKET);

  it('pings of the upstream are answered while an answer is read', async () => {
    service.upstream.respond(saying(between({ comment: 'ping' })));
    const turn = ask(service);
    await service.upstream.nextCall();
    const socket = await service.upstream.socket();
    await socket.ponged;
    expect(textOf((await turn).response)).toBe('Hello');
  });
});

describe('§3.2 the ids of an upstream', () => {
  const service = use(SSE);

  it('the ids of an upstream may be the same in every answer: the chain goes on all the same', async () => {
    const said = (): UpstreamItem => message('Hello', { id: upstreamId('msg').slice(0, 4) + 'always_the_same_id' });
    service.upstream.always((call) => streaming(toEvents(call.responseId, [said(), functionCall('f')])));
    const first = await ask(service, { input: 'One' });
    const [, call] = first.response['output'] as readonly { readonly call_id: string }[];
    const second = await ask(service, {
      previous_response_id: first.response.id,
      input: [{ type: 'function_call_output', call_id: call?.call_id, output: 'x' }],
    });
    expect(second.response.status).toBe('completed');
  });
});
