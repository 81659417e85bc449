import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';

import { useFreshService } from '../support/describe-service.js';
import { SECRET_ENCODINGS } from '../support/encoded-secrets.js';
import { functionCall, message } from '../support/responses-upstream/items.js';
import { failing, refusing, type Reply, type Responder, streaming } from '../support/responses-upstream/reply.js';
import {
  ask,
  MODEL,
  shareResponsesService,
  shareTimedService,
  startResponsesService,
  startTimedService,
  transportsOf,
  UPSTREAM_KEY,
} from '../support/responses-upstream/start-responses-service.js';
import { toEvents } from '../support/responses-upstream/to-events.js';
import { ServiceLog } from '../support/service-log.js';
import { listModels } from '../support/routing/ask.js';
import { textOf } from '../support/output.js';

// Each test has it load what it needs.
const load = shareResponsesService();
const loadTimed = shareTimedService();

const SSE = {};
const WEBSOCKET = { supports_websockets: true };

const TURN = { model: MODEL, input: 'Hi' };

describe('GET /models of the upstream', () => {
  it.each<[shape: string, listing: object]>([
    ['the list of OpenAI', { object: 'list', data: [{ id: 'm-1', object: 'model', created: 7, owned_by: 'acme' }] }],
    ['the list of Codex', { data: [], models: [{ slug: 'm-1', display_name: 'M 1' }] }],
  ])('the model list of the upstream is ours where the entry discovers: %s', async (_, listing) => {
    await using upstream = await load({ entry: { discover: true } });
    upstream.upstream.list(listing);
    expect(await listModels(upstream)).toContainEqual(expect.objectContaining({ id: 'm-1' }));
    expect(upstream.upstream.listings[0]?.headers).toMatchObject({ authorization: `Bearer ${UPSTREAM_KEY}` });
    await ask(upstream, { model: 'm-1' });
    expect(upstream.upstream.lastCall.body.model).toBe('m-1');
  });

  it('the model list of the upstream is not asked for where the entry does not discover', async () => {
    await using service = await load({ entry: { discover: false } });
    await listModels(service);
    expect(service.upstream.listings).toEqual([]);
  });
});

describe('rate limits of the upstream', () => {
  it.each([
    ['SSE', SSE],
    ['WebSocket', WEBSOCKET],
  ] as const)('rate limits of the upstream are on our answers, of refusals over %s too', async (_, entry) => {
    await using service = await loadTimed({ entry: { ...entry, stream_max_retries: 0 } });
    service.upstream.always(
      refusing(429, { code: 'rate_limit_exceeded', message: 'Slow down.' }, { 'retry-after': '3' }),
    );
    const { status, headers } = await service.api.post('responses', TURN);
    expect([status, headers.get('retry-after')]).toEqual([429, '3']);
  });
});

describe('the log', () => {
  it.each([
    [
      'an answer',
      SSE,
      ({ responseId }: { readonly responseId: string }) =>
        streaming(toEvents(responseId, []), { headers: { 'x-request-id': 'req-up-1' } }),
    ],
    ['a refusal', SSE, refusing(400, {}, { 'x-request-id': 'req-up-1' })],
    ['an error frame', WEBSOCKET, refusing(400, {}, { 'x-request-id': 'req-up-1' })],
  ] as const)("the log has the upstream's x-request-id of %s", async (_, entry, reply) => {
    using log = new ServiceLog();
    await using service = await startResponsesService({ entry: { ...entry }, imports: [log.asModule()] });
    service.upstream.respond(reply);
    await service.api.post('responses', TURN);
    expect(log.text).toContain('req-up-1');
  });
});

/** Base64 goes on with what is beside the secret. */
const SAID = /Key <[\w+/]{0,6}\[redacted\][\w+/-]{0,3}={0,2}> is bad\./;

/** What an upstream may say that has secrets in it. */
const TELLTALES: readonly (readonly [name: string, entry: object, reply: Reply | Responder])[] = [
  ['a refusal', SSE, refusing(400, { code: 'bad', message: `Key ${UPSTREAM_KEY} is bad.` })],
  ['a refusal of the key', SSE, refusing(401, { message: `Incorrect API key: ${UPSTREAM_KEY}` })],
  ['a page', SSE, refusing(500, `<html>${UPSTREAM_KEY}</html>`)],
  ['a failure', SSE, failing({ code: 'server_error', message: `Key ${UPSTREAM_KEY} is bad.` })],
  ['a fatal failure', WEBSOCKET, failing({ code: 'invalid_prompt', message: `Key ${UPSTREAM_KEY} is bad.` })],
  ['an error frame', WEBSOCKET, refusing(400, { code: 'bad', message: `Key ${UPSTREAM_KEY} is bad.` })],
  ['an id', SSE, refusing(500, {}, { 'x-request-id': UPSTREAM_KEY })],
];

describe('the key of the upstream', () => {
  it.each(TELLTALES)('the key of the upstream is neither in the answer nor in the log: %s', async (_, entry, reply) => {
    using log = new ServiceLog();
    await using service = await startTimedService({ entry: { ...entry }, imports: [log.asModule()] });
    service.upstream.always(reply);
    const { status, headers, body } = await service.api.post('responses', TURN);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify([...headers, body])).not.toContain(UPSTREAM_KEY);
    expect(JSON.stringify([...headers, body])).not.toContain(String(service.upstream.port));
    expect(log.text).not.toContain(UPSTREAM_KEY);
  });

  it.each<[where: string, entry: object, tell: (message: string) => Reply | Responder]>([
    ['a refusal', SSE, (message) => refusing(400, { code: 'bad', message })],
    ['a failure in a stream', SSE, (message) => failing({ code: 'invalid_prompt', message })],
    ['a failure on a socket', WEBSOCKET, (message) => failing({ code: 'invalid_prompt', message })],
    ['an error frame', WEBSOCKET, (message) => refusing(400, { code: 'bad', message })],
  ])('the key of the upstream is found in every disguise: %s', async (_, entry, tell) => {
    using log = new ServiceLog();
    await using service = await startTimedService({ entry: { ...entry }, imports: [log.asModule()] });
    for (const [, disguise] of SECRET_ENCODINGS) {
      service.upstream.respond(tell(`Key <${disguise(UPSTREAM_KEY)}> is bad.`));
      const { body } = await service.api.post('responses', TURN);
      expect(body).toMatchObject({ error: { message: expect.stringMatching(SAID) } });
      expect(log.lines.splice(0).join('\n')).toMatch(SAID);
    }
  });

  it('the key of the upstream is not passed on with what that tells beside the output', async () => {
    await using service = await loadTimed({ entry: SSE });
    const told = Buffer.from(`user:${UPSTREAM_KEY}`).toString('base64');
    service.upstream.respond(({ responseId }) =>
      streaming(
        [
          { type: 'codex.rate_limits', plan_type: told, limits: { [told]: [told] } },
          {
            type: 'response.metadata',
            headers: { 'x-codex-primary-used-percent': told, 'x-models-etag': 'v2' },
            note: told,
          },
          ...toEvents(responseId, [message('Hi')]),
        ],
        { headers: { 'x-ratelimit-limit-requests': told, 'x-codex-turn-state': told, 'x-codex-credits-balance': '7' } },
      ),
    );
    const { status, headers, body } = await service.api.post('responses', TURN);
    expect(status).toBe(200);
    expect([headers.get('x-models-etag'), headers.get('x-codex-credits-balance')]).toEqual(['v2', '7']);
    expect(JSON.stringify([...headers, body])).not.toContain(told);
  });

  it('the key of the upstream is not in the log of a refused handshake', async () => {
    using log = new ServiceLog();
    await using service = await startTimedService({ entry: WEBSOCKET, imports: [log.asModule()] });
    service.upstream.onEveryUpgrade(refusing(500, { message: `Key ${UPSTREAM_KEY} is bad.` }));
    await service.api.post('responses', TURN);
    expect(log.text).toContain('Falling back');
    expect(log.text).not.toContain(UPSTREAM_KEY);
  });
});

describe('§7 a fixture', () => {
  const folders: string[] = [];

  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  const write = async (events: readonly object[]): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-fixture-'));
    folders.push(folder);
    const file = join(folder, 'answer.sse');
    await writeFile(file, events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    return file;
  };

  it('a fixture answers every turn without a network, through the same parser', async () => {
    const call = functionCall('f', { a: 1 });
    const file = await write(toEvents('resp_fixture', [message('From a file'), call]));
    await using service = await load({ entry: { base_url: `fixture:${file}`, ...WEBSOCKET } });
    for (let turn = 0; turn < 2; turn += 1) {
      const { response } = await ask(service);
      expect(textOf(response)).toBe('From a file[f]');
      expect(response['output']).toMatchObject([{ type: 'message' }, call]);
    }
    expect(service.upstream.calls).toEqual([]);
    expect(service.upstream.upgrades).toEqual([]);
  });

  it('a fixture is also read where CODEX_RS_SSE_FIXTURE says so', async () => {
    const file = await write(toEvents('resp_fixture', [message('From a file')]));
    await using service = await startResponsesService({ environment: { CODEX_RS_SSE_FIXTURE: file } });
    expect(textOf((await ask(service)).response)).toBe('From a file');
    expect(service.upstream.calls).toEqual([]);
  });

  it('a fixture shows how failures are classified', async () => {
    const error = { code: 'context_length_exceeded', message: 'Too long.' };
    const file = await write(toEvents('resp_fixture', [], { terminal: 'response.failed', response: { error } }));
    await using service = await load({ entry: { base_url: `fixture:${file}` } });
    expect(await service.api.post('responses', TURN)).toMatchObject({ status: 400, body: { error } });
  });

  it('a fixture that is gone names no path to clients', async () => {
    using log = new ServiceLog();
    const file = join(await write([]), '..', 'secret-name');
    await writeFile(file, '');
    await using service = await startResponsesService({
      entry: { base_url: `fixture:${file}` },
      imports: [log.asModule()],
    });
    await rm(file);
    const { status, body } = await service.api.post('responses', TURN);
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('secret-name');
    expect(log.text).toContain('secret-name');
  });
});

describe('passthrough: store', () => {
  const service = useFreshService(() => load({ entry: { passthrough: 'store' } }));

  it('passthrough: store lets the upstream keep the conversation, and names its response over HTTP', async () => {
    service.upstream.store();
    const first = await ask(service, { input: 'One' });
    const parent = service.upstream.lastCall.responseId;
    await ask(service, { input: 'Two', previous_response_id: first.response.id });
    const { body, context } = service.upstream.lastCall;
    expect(body).toMatchObject({ store: true, previous_response_id: parent });
    expect(body.input).toHaveLength(1);
    expect(context).toHaveLength(3);
    expect(transportsOf(service.upstream.calls)).toEqual(['sse', 'sse']);
  });

  it('passthrough: store sends the whole context once when the upstream has forgotten it', async () => {
    service.upstream.store();
    const first = await ask(service, { input: 'One' });
    service.upstream.forget();
    await ask(service, { input: 'Two', previous_response_id: first.response.id });
    expect(service.upstream.calls).toHaveLength(3);
    expect(service.upstream.lastCall.body.previous_response_id).toBeUndefined();
    expect(service.upstream.lastCall.context).toHaveLength(3);
  });

  it('passthrough: store is not for clients that do not store', async () => {
    service.upstream.store();
    await ask(service, { store: false });
    expect(service.upstream.lastCall.body['store']).toBe(false);
  });

  it('passthrough: store is off where the entry does not say so', async () => {
    await using plain = await load();
    plain.upstream.store();
    const first = await ask(plain, { input: 'One' });
    await ask(plain, { input: 'Two', previous_response_id: first.response.id });
    expect(plain.upstream.calls.map(({ body }) => body['store'])).toEqual([false, false]);
    expect(plain.upstream.lastCall.body.previous_response_id).toBeUndefined();
  });
});
