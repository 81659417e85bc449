import { describe, expect, it } from '@jest/globals';

import { useFreshService } from '../support/describe-service.js';
import { ServiceLog } from '../support/service-log.js';
import {
  ask,
  shareTimedService,
  startTimedService,
  type TimedService,
  transportsOf,
} from '../support/responses-upstream/start-responses-service.js';
import { textOf, textsOf } from '../support/output.js';
import { message } from '../support/responses-upstream/items.js';
import { failing, refusing } from '../support/responses-upstream/reply.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const WEBSOCKETS = { supports_websockets: true };

const ONE = { prompt_cache_key: 'conversation-one' };
const TWO = { prompt_cache_key: 'conversation-two' };

const use = (entry: object): ReturnType<typeof useFreshService<TimedService>> =>
  useFreshService(() => loadTimed({ entry: { ...entry } }));

describe('§1.1 the transport of a turn', () => {
  it.each<[entry: object, transport: string]>([
    [{}, 'sse'],
    [{ supports_websockets: false }, 'sse'],
    [{ supports_websockets: true }, 'websocket'],
    [{ supports_websockets: true, features: { responses_websockets: false } }, 'websocket'],
    [{ supports_websockets: true, profile: 'codex-2026-02' }, 'sse'],
    [{ supports_websockets: true, profile: 'codex-2026-02', features: { responses_websockets: false } }, 'sse'],
    [{ supports_websockets: true, profile: 'codex-2026-02', features: { responses_websockets: true } }, 'websocket'],
    [{ supports_websockets: false, profile: 'codex-2026-02', features: { responses_websockets: true } }, 'sse'],
  ])('the transport of a turn with %j is %s', async (entry, transport) => {
    await using service = await loadTimed({ entry: { ...entry } });
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(transportsOf(service.upstream.calls)).toEqual([transport]);
  });
});

describe('§1.2 the fallback to HTTP', () => {
  const service = use({ ...WEBSOCKETS, stream_max_retries: 2 });

  it('§5.2 the fallback to HTTP comes when the retries of the stream are spent, and starts to count anew', async () => {
    using log = ServiceLog.begin();
    const { upstream, clock } = service;
    upstream.onEveryUpgrade(refusing(500, { message: 'No sockets today.' }));
    upstream.refuse(502).refuse(502).say(message('over HTTP'));
    expect(textOf((await ask(service, ONE)).response)).toBe('over HTTP');
    expect(upstream.upgrades).toHaveLength(3);
    expect(transportsOf(upstream.calls)).toEqual(['sse', 'sse', 'sse']);
    expect(clock.take().filter((pause) => pause > 0)).toEqual([200, 400, 200, 400]);
    const warnings = log.complaints.filter((line) => line.includes('Falling back'));
    expect(warnings).toEqual([expect.stringContaining('Falling back from WebSockets to HTTPS transport. HTTP 500')]);
  });

  it('§5.2 the fallback to HTTP is for good: later turns of the conversation ask for no socket, though HTTP fails', async () => {
    const { upstream, clock } = service;
    upstream.onUpgrade(refusing(500), refusing(500), refusing(500));
    await ask(service, ONE);
    clock.advance(24 * 60 * 60 * 1000);
    upstream.refuse(502).refuse(502);
    await ask(service, ONE);
    expect(upstream.upgrades).toHaveLength(3);
    expect(upstream.openSockets).toBe(0);
  });

  it('the fallback to HTTP is per conversation: another one still uses a socket', async () => {
    const { upstream } = service;
    upstream.onUpgrade(refusing(426));
    await ask(service, ONE);
    await ask(service, TWO);
    await ask(service, ONE);
    expect(transportsOf(upstream.calls)).toEqual(['sse', 'websocket', 'sse']);
  });

  it('the fallback to HTTP is per tenant: a conversation of the same name that belongs to somebody else still uses a socket', async () => {
    await using tenants = await startTimedService({
      entry: WEBSOCKETS,
      environment: { API_KEYS: 'first:sk-first,second:sk-second' },
    });
    tenants.upstream.onUpgrade(refusing(426));
    await ask(tenants, ONE, { authorization: 'Bearer sk-first' });
    await ask(tenants, ONE, { authorization: 'Bearer sk-second' });
    expect(transportsOf(tenants.upstream.calls)).toEqual(['sse', 'websocket']);
  });

  it('the fallback to HTTP comes at once on 426, silently and without spending a retry', async () => {
    using log = ServiceLog.begin();
    const { upstream, clock } = service;
    upstream.onUpgrade(refusing(426));
    upstream.refuse(502).refuse(502).say(message('over HTTP'));
    expect(textOf((await ask(service, ONE)).response)).toBe('over HTTP');
    expect(upstream.upgrades).toHaveLength(1);
    expect(clock.take()).toEqual([200, 400]);
    expect(log.complaints.filter((line) => line.includes('Falling back'))).toEqual([]);
  });

  it('the fallback to HTTP comes once, also when two turns of a conversation fail at the same moment', async () => {
    using log = ServiceLog.begin();
    const { upstream } = service;
    upstream.onEveryUpgrade(refusing(500));
    const results = await Promise.all([ask(service, ONE), ask(service, ONE), ask(service, ONE)]);
    expect(results.map(({ response }) => textOf(response))).toEqual(['ok', 'ok', 'ok']);
    expect(log.complaints.filter((line) => line.includes('Falling back'))).toHaveLength(1);
  });

  it('the fallback to HTTP does not come when a turn succeeds within its retries', async () => {
    const { upstream } = service;
    upstream.onUpgrade(refusing(500), refusing(503));
    await ask(service, ONE);
    await ask(service, ONE);
    expect(transportsOf(upstream.calls)).toEqual(['websocket', 'websocket']);
    expect(upstream.upgrades).toHaveLength(3);
  });

  it('the fallback to HTTP forgets the socket and what it was continued from: the whole context goes over HTTP', async () => {
    const { upstream } = service;
    const first = await ask(service, { ...ONE, input: 'One' });
    const overload = failing({ code: 'server_error', message: 'Broken.' });
    upstream.respond(overload, overload, overload);
    await ask(service, { ...ONE, input: 'Two', previous_response_id: first.response.id });
    expect(transportsOf(upstream.calls)).toEqual(['websocket', 'websocket', 'websocket', 'websocket', 'sse']);
    expect(upstream.lastCall.body.previous_response_id).toBeUndefined();
    expect(textsOf(upstream.lastCall.context)).toEqual(['One', 'ok', 'Two']);
  });

  it('the fallback to HTTP is not repeated by a turn that fails over HTTP: its error reaches the client', async () => {
    const { upstream } = service;
    upstream.onUpgrade(refusing(426));
    upstream.always(failing({ code: 'server_error', message: 'Broken.' }));
    await expect(ask(service, ONE)).rejects.toThrow('server_error');
    expect(upstream.calls).toHaveLength(3);
  });
});

describe('healing after a cool-down', () => {
  const service = use({ ...WEBSOCKETS, websocket_heal_after_ms: 60_000 });

  it('a turn after the cool-down tries a socket again, and none before', async () => {
    const { upstream, clock } = service;
    upstream.onUpgrade(refusing(426));
    await ask(service, ONE);
    clock.advance(59_000);
    await ask(service, ONE);
    clock.advance(2_000);
    await ask(service, ONE);
    expect(transportsOf(upstream.calls)).toEqual(['sse', 'sse', 'websocket']);
  });
});
