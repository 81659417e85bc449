import { describe, expect, it } from '@jest/globals';

import { useFreshService } from '../support/describe-service.js';
import { message } from '../support/responses-upstream/items.js';
import { answering, streaming } from '../support/responses-upstream/reply.js';
import {
  ask,
  shareResponsesService,
  shareTimedService,
  transportsOf,
} from '../support/responses-upstream/start-responses-service.js';
import { toEvents } from '../support/responses-upstream/to-events.js';
import { textOf } from '../support/output.js';

// Each test has it load what it needs.
const load = shareResponsesService();
const loadTimed = shareTimedService();

const ENTRY = { supports_websockets: true };
const ONE = { prompt_cache_key: 'conversation-one' };
const TWO = { prompt_cache_key: 'conversation-two' };
const THREE = { prompt_cache_key: 'conversation-three' };

const MINUTE = 60_000;

/** An answer that is given when `until` resolves. */
const waiting =
  (until: Promise<unknown>) =>
  ({ responseId }: { readonly responseId: string }) => {
    const [created, ...rest] = toEvents(responseId, [message('late')]);
    return streaming([...(created === undefined ? [] : [created]), { until }, ...rest]);
  };

describe('sockets to an upstream', () => {
  const service = useFreshService(() =>
    loadTimed({ entry: { ...ENTRY, websocket_connections: 2, stream_max_retries: 0 } }),
  );

  it('sockets to an upstream are kept: turns of a conversation share one', async () => {
    for (let turn = 0; turn < 5; turn += 1) await ask(service, ONE);
    expect(service.upstream.upgrades).toHaveLength(1);
    expect((await service.upstream.socket()).requests).toBe(5);
  });

  it('sockets to an upstream belong to one conversation each', async () => {
    await ask(service, ONE);
    await ask(service, TWO);
    await ask(service, ONE);
    expect(service.upstream.sockets.map(({ requests }) => requests)).toEqual([2, 1]);
  });

  it('sockets to an upstream are not waited for: a second turn of a conversation gets its own, and then turns go over SSE', async () => {
    const { upstream } = service;
    const held = Promise.withResolvers<undefined>();
    upstream.respond(waiting(held.promise), waiting(held.promise));
    const busy = [ask(service, ONE), ask(service, ONE)];
    await upstream.received(2);
    expect(textOf((await ask(service, ONE)).response)).toBe('ok');
    expect(textOf((await ask(service, THREE)).response)).toBe('ok');
    expect(transportsOf(upstream.calls)).toEqual(['websocket', 'websocket', 'sse', 'sse']);
    held.resolve(undefined);
    for (const { response } of await Promise.all(busy)) expect(textOf(response)).toBe('late');
    // A turn that found no socket has not fallen back.
    await ask(service, ONE);
    expect(upstream.lastCall.transport).toBe('websocket');
  });

  it('sockets to an upstream make room: the longest idle one of another conversation is closed', async () => {
    const { upstream } = service;
    await ask(service, ONE);
    await ask(service, TWO);
    await ask(service, THREE);
    await (
      await upstream.socket(1)
    ).closed;
    expect(upstream.sockets.map(({ isOpen }) => isOpen)).toEqual([false, true, true]);
    expect(transportsOf(upstream.calls)).toEqual(['websocket', 'websocket', 'websocket']);
  });

  it('sockets to an upstream are closed when the upstream sends something unasked, and nobody reads it', async () => {
    const { upstream } = service;
    await ask(service, ONE);
    const socket = await upstream.socket();
    for (const event of toEvents('resp_stray', [message('stray')])) socket.send(event);
    await socket.closed;
    expect(textOf((await ask(service, ONE)).response)).toBe('ok');
    expect(transportsOf(upstream.calls)).toEqual(['websocket', 'websocket']);
    expect(upstream.upgrades).toHaveLength(2);
  });

  it('sockets to an upstream are replaced without a retry when the upstream closed them while they were idle', async () => {
    const { upstream, clock } = service;
    await ask(service, ONE);
    await (await upstream.socket()).close(1001);
    await ask(service, ONE);
    expect(transportsOf(upstream.calls)).toEqual(['websocket', 'websocket']);
    expect(clock.take()).toEqual([]);
  });

  it('sockets to an upstream are closed when a client hangs up in the middle of its turn', async () => {
    const { upstream } = service;
    upstream.respond('hang');
    const aborter = new AbortController();
    const turn = fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tested', input: 'Hi', stream: true }),
      signal: aborter.signal,
    });
    const call = await upstream.nextCall();
    aborter.abort();
    await expect(turn).rejects.toThrow();
    await call.closed;
    // Without ceremony, as Codex does.
    expect(await (await upstream.socket()).closed).toBe(1006);
  });
});

describe('sockets to an upstream, in time', () => {
  const entry = { ...ENTRY, websocket_idle_timeout_ms: 5 * MINUTE, websocket_max_age_ms: 55 * MINUTE };
  const service = useFreshService(() => loadTimed({ entry }));

  it('sockets to an upstream are closed when they were idle for long', async () => {
    await ask(service, ONE);
    const socket = await service.upstream.socket();
    service.clock.advance(5 * MINUTE - 1);
    await ask(service, ONE);
    service.clock.advance(5 * MINUTE - 1);
    expect(socket.isOpen).toBe(true);
    service.clock.advance(1);
    expect(await socket.closed).toBe(1000);
  });

  it('sockets to an upstream are replaced before the upstream ends them after an hour', async () => {
    for (let turn = 0; turn < 15; turn += 1) {
      await ask(service, ONE);
      service.clock.advance(4 * MINUTE);
    }
    expect(service.upstream.sockets.map(({ requests }) => requests)).toEqual([14, 1]);
    await (
      await service.upstream.socket(1)
    ).closed;
  });

  it('sockets to an upstream are replaced when the upstream says that they are too old, which costs no more than a retry', async () => {
    const { upstream } = service;
    await ask(service, ONE);
    upstream.refuse(400, { code: 'websocket_connection_limit_reached', message: 'Too old.' });
    expect(textOf((await ask(service, ONE)).response)).toBe('ok');
    expect(upstream.sockets.map(({ requests }) => requests)).toEqual([2, 1]);
  });

  it('§4.1 sockets are given up when the handshake takes too long', async () => {
    const { upstream, clock } = service;
    upstream.onUpgrade('hang');
    const waits = clock.whenScheduled(15_000);
    const turn = ask(service, ONE);
    await Promise.all([waits, upstream.upgraded()]);
    clock.advance(15_000);
    expect(textOf((await turn).response)).toBe('ok');
    expect(upstream.upgrades).toHaveLength(2);
  });
});

describe('two hundred turns over one socket', () => {
  const service = useFreshService(() => load({ entry: ENTRY }));

  it('two hundred turns over one socket leak neither sockets, timers nor listeners', async () => {
    const { upstream } = service;
    upstream.always(answering(() => [message('ok')]));
    const resources = (): number => process.getActiveResourcesInfo().length;
    const warnings: Error[] = [];
    const note = (warning: Error): number => warnings.push(warning);
    process.on('warning', note);
    for (let turn = 0; turn < 20; turn += 1) await ask(service, ONE);
    const [before, connections] = [resources(), upstream.openConnections];
    for (let turn = 0; turn < 180; turn += 1) await ask(service, ONE);
    process.off('warning', note);
    expect(upstream.upgrades).toHaveLength(1);
    // The pool of HTTP connections may close an idle one meanwhile.
    expect(upstream.openConnections).toBeLessThanOrEqual(connections);
    expect(upstream.openSockets).toBe(1);
    expect((await upstream.socket()).requests).toBe(200);
    expect(resources()).toBeLessThanOrEqual(before + 5);
    expect(warnings).toEqual([]);
  });
});
