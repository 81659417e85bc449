import { describe, expect, it } from '@jest/globals';

import { ServiceLog } from '../support/service-log.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { useFreshService } from '../support/describe-service.js';
import { message } from '../support/responses-upstream/items.js';
import {
  cutting,
  type Reply,
  type Responder,
  saying,
  type Step,
  streaming,
} from '../support/responses-upstream/reply.js';
import {
  ask,
  MODEL,
  shareTimedService,
  startTimedService,
  type TimedService,
} from '../support/responses-upstream/start-responses-service.js';
import { created } from '../support/responses-upstream/to-events.js';
import { textOf } from '../support/output.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const use = (entry: Readonly<Record<string, unknown>>): ReturnType<typeof useFreshService<TimedService>> =>
  useFreshService(() => loadTimed({ entry: { stream_max_retries: 0, request_max_retries: 0, ...entry } }));

const SSE = {};
const WEBSOCKET = { supports_websockets: true };

/** How an answer may go wrong before its first output, and what the log says then. */
const BREAKS: readonly (readonly [
  section: string,
  entry: Readonly<Record<string, unknown>>,
  reply: Reply | Responder,
  message: string,
])[] = [
  ['§3.3 SSE ends early', SSE, cutting([], 1, 'done'), 'stream closed before response.completed'],
  ['§3.3 SSE ends behind response.failed', SSE, failedThenQuiet('done'), 'rate_limit_exceeded: Slow down.'],
  [
    '§3.3 SSE ends behind a failure without an error',
    SSE,
    () => streaming([{ type: 'response.failed', response: {} }]),
    'response.failed event received',
  ],
  [
    '§3.2 the end of a response has no id',
    SSE,
    () => streaming([{ type: 'response.completed', response: {} }]),
    'failed to parse ResponseCompleted',
  ],
  ['§4.3 a socket says response.failed', WEBSOCKET, failedThenQuiet('silence'), 'rate_limit_exceeded: Slow down.'],
  [
    '§4.3 a socket is closed',
    WEBSOCKET,
    cutting([], 1, { close: 1011 }),
    'websocket closed by server before response.completed',
  ],
  [
    '§4.3 a socket ends without a close frame',
    WEBSOCKET,
    cutting([], 1, 'eof'),
    'stream closed before response.completed',
  ],
  ['§4.3 a socket is reset', WEBSOCKET, cutting([], 1, 'reset'), 'Connection reset without closing handshake'],
  [
    '§4.3 a socket says something binary',
    WEBSOCKET,
    () => streaming([{ binary: 'x' }], { end: 'silence' }),
    'unexpected binary websocket event',
  ],
];

function failedThenQuiet(end: 'done' | 'silence'): Responder {
  return ({ responseId }) =>
    streaming(
      [
        created(responseId),
        {
          type: 'response.failed',
          response: { id: responseId, error: { code: 'rate_limit_exceeded', message: 'Slow down.' } },
        },
      ],
      { end },
    );
}

describe('an answer that breaks off before its first output', () => {
  it.each(BREAKS)('%s: the log has the words of the specification', async (_, entry, reply, words) => {
    await using service = await startTimedService({
      entry: { stream_max_retries: 0, request_max_retries: 0, ...entry },
    });
    using log = ServiceLog.begin();
    service.upstream.respond(reply);
    // A turn over WebSocket goes on over HTTP.
    const outcome = await ask(service).catch((error: unknown) => String(error));
    expect(typeof outcome === 'string' ? outcome : textOf(outcome.response)).toMatch(
      entry === SSE ? /refused with [45]/ : /ok/,
    );
    expect(log.complaints.join('\n')).toContain(words);
  });

  it.each(BREAKS)('%s: it is asked for again', async (_, entry, reply) => {
    await using service = await loadTimed({ entry });
    service.upstream.respond(reply);
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(service.upstream.calls).toHaveLength(2);
  });
});

describe('§3.3 response.failed over SSE', () => {
  const service = use(SSE);

  it('response.failed is reported at the end of the stream, and not before', async () => {
    const held = Promise.withResolvers<undefined>();
    service.upstream.respond((call) => {
      const { steps } = failedThenQuiet('done')(call) as { readonly steps: readonly Step[] };
      return streaming([...steps, { until: held.promise }, { type: 'response.in_progress' }]);
    });
    let isOver = false;
    const turn = ask(service).catch(() => undefined);
    void turn.then(() => (isOver = true));
    await service.upstream.nextCall();
    await whenStill(() => service.clock.pending);
    expect(isOver).toBe(false);
    held.resolve(undefined);
    await turn;
  });

  it('response.failed is forgotten when the answer completes behind it', async () => {
    service.upstream.respond(
      saying((events) => [{ type: 'response.failed', response: { error: { code: 'x', message: 'y' } } }, ...events]),
    );
    expect(textOf((await ask(service)).response)).toBe('Hello');
  });
});

describe.each([
  ['SSE', SSE, 'idle timeout waiting for SSE'],
  ['WebSocket', WEBSOCKET, 'idle timeout waiting for websocket'],
] as const)('§3.4, §4.3 the idle timeout over %s', (_, transport, words) => {
  // The service's own patience with models has the same default; here only the provider's counts.
  const service = useFreshService(() =>
    startTimedService({
      entry: { ...transport, stream_max_retries: 0, request_max_retries: 0 },
      environment: { MODEL_IDLE_TIMEOUT_MS: 0, MODEL_ACCEPT_TIMEOUT_MS: 0 },
    }),
  );

  it('the idle timeout ends an answer during which nothing comes, and is said in its words', async () => {
    using log = ServiceLog.begin();
    service.upstream.respond(({ responseId }) => streaming([created(responseId)], { end: 'silence' }));
    const turn = ask(service);
    const { closed } = await service.upstream.nextCall();
    await whenStill(() => service.clock.pending);
    service.clock.advance(299_999);
    expect(log.complaints).toEqual([]);
    service.clock.advance(1);
    await closed;
    expect((await turn).response.status).toBe(transport === SSE ? 'failed' : 'completed');
    expect(log.complaints.join('\n')).toContain(words);
  });

  it('the idle timeout begins anew with every event, unparsable ones included, and not with comments or pings', async () => {
    using log = ServiceLog.begin();
    const gates = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()] as const;
    const [event, comment] = gates.map(({ promise }) => ({ until: promise })) as [Step, Step];
    service.upstream.respond(({ responseId }) =>
      streaming([created(responseId), event, { raw: 'no JSON' }, comment, { comment: 'hm' }], { end: 'silence' }),
    );
    const turn = ask(service);
    await service.upstream.nextCall();
    for (const gate of gates) {
      await whenStill(() => service.clock.pending);
      service.clock.advance(200_000);
      gate.resolve(undefined);
    }
    await whenStill(() => service.clock.pending);
    service.clock.advance(99_999);
    expect(log.complaints).toEqual([]);
    service.clock.advance(1);
    await turn;
    expect(log.complaints.join('\n')).toContain(words);
  });
});

describe.each([
  ['SSE', SSE],
  ['WebSocket', WEBSOCKET],
] as const)('§5.1 an answer that breaks off behind its first output over %s', (_, entry) => {
  const service = use(entry);
  const BREAK = cutting([message('Half an answer')], 5, 'reset');
  const create = (body: object = {}): ReturnType<TimedService['api']['post']> =>
    service.api.post('responses', { model: MODEL, input: 'Hi', ...body });

  it('an answer that breaks off is asked for again for a client of JSON, who sees nothing of it', async () => {
    service.upstream.respond(BREAK, BREAK);
    const { status, body } = await create();
    expect({ status, text: textOf(body as never) }).toEqual({ status: 200, text: 'ok' });
    expect(service.upstream.calls).toHaveLength(3);
  });

  it('an answer that breaks off is 503 at last if nothing is stored, else a failed response', async () => {
    service.upstream.always(BREAK);
    expect(await create({ store: false })).toMatchObject({
      status: 503,
      body: { error: { code: 'model_unavailable', type: 'service_unavailable_error' } },
    });
    expect(service.upstream.calls).toHaveLength(3);
    expect(await create()).toMatchObject({ status: 200, body: { status: 'failed', error: { code: 'server_error' } } });
  });
});
