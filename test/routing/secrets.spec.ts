import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { freePort } from '../support/ports.js';
import { streamReply, textReply } from '../support/chat-upstream/reply.js';
import type { HttpReply, UpstreamRequest } from '../support/upstream-server.js';
import { useService } from '../support/describe-service.js';
import { SECRET_ENCODINGS } from '../support/encoded-secrets.js';
import { PausingClock } from '../support/clocks.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { HangUpServer } from '../support/hang-up-server.js';
import { ServiceLog } from '../support/service-log.js';
import { SocketClient } from '../support/socket-client.js';

const KEY = 'tz-key-0123456789';
const HEADER = 'tz-header-0123456789';
const QUERY = 'tz-query-0123456789';
const PASSWORD = 'tz-password-0123456789';
/** In the form of an error code. */
const KEY_AS_CODE = 'tz_code_0123456789';
const VARIABLE = 'tz-variable-0123456789';
const BASIC = Buffer.from(`user:${PASSWORD}`).toString('base64');

/** Parts of secrets that are long enough to be of use. */
const FORBIDDEN = [KEY, HEADER, QUERY, VARIABLE, BASIC].map((secret) => secret.slice(0, 12));

const observer = new RecordingObserver();
const clock = new PausingClock();
let log: ServiceLog;
let rude: HangUpServer;
let hidden: string[];

// Before it closes.
afterAll(() => {
  delete process.env['ROUTING_TEST_VARIABLE'];
  clock.letGo();
});
const service = useService(async () => {
  process.env['ROUTING_TEST_VARIABLE'] = VARIABLE;
  rude = await HangUpServer.start();
  log = new ServiceLog();
  const common = {
    retries: 0,
    api_key: KEY,
    headers: {
      'x-key': HEADER,
      'x-variable': 'a ${ROUTING_TEST_VARIABLE}',
      'x-basic': `Basic ${BASIC}`,
      'x-code': KEY_AS_CODE,
    },
    query: { key: QUERY },
  };
  return startRoutedService({
    upstreams: {
      a: {},
      rude: { base_url: rude.baseUrl },
      closed: { base_url: `http://127.0.0.1:${await freePort()}/hidden-path` },
      local: { base_url: `http://localhost:${await freePort()}/hidden-path` },
      unknown: { base_url: 'http://hidden-host.invalid/hidden-path' },
    },
    common,
    models: ['a', 'rude', 'closed', 'local', 'unknown'].map((provider) => ({ name: provider, provider })),
    imports: [observer.asModule(), log.asModule()],
    overrides: [[Clock, clock]],
  });
});

beforeAll(() => {
  const { host, port } = new URL(service.upstream('a').baseUrl);
  hidden = [...FORBIDDEN, host, `:${port}`, new URL(rude.baseUrl).host, 'hidden-host', 'hidden-path'];
});

beforeEach(() => {
  service.forget();
});
afterAll(async () => {
  await rude[Symbol.asyncDispose]();
  // What is said at the end counts as well.
  expectHidden(log.text);
  log[Symbol.dispose]();
});

function expectHidden(shown: string): void {
  expect(shown.length).toBeGreaterThan(0);
  for (const secret of hidden) expect(shown).not.toContain(secret);
}

/** Everything a client sees of a turn, on every transport, and of the response that is stored. */
async function everythingOf(model: string, prepare: () => unknown = () => undefined): Promise<string> {
  const seen: string[] = [];
  for (const stream of [false, true]) {
    prepare();
    const answer = await fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: 'Hi', stream }),
    });
    seen.push(JSON.stringify([...answer.headers]), await answer.text());
  }
  prepare();
  await using client = await SocketClient.open(service);
  client.create({ model, input: 'Hi' });
  for (let type = ''; !/^error$|^response\.(?:completed|failed|incomplete)$/.test(type);) {
    const frame = await client.next();
    ({ type } = frame);
    seen.push(JSON.stringify(frame));
  }
  for (const [, id] of seen.join('').matchAll(/"id":"(resp_[^"]+)"/g)) {
    const stored = await fetch(`${service.baseURL}/responses/${id ?? ''}`);
    seen.push(await stored.text());
  }
  return seen.join('\n');
}

/** What an upstream may say of itself and of what it was sent. */
function confession(request: UpstreamRequest): string {
  const { headers, url } = request;
  return [
    `Bad key ${String(headers['authorization'])}`,
    `x-key ${String(headers['x-key'])}, x-variable ${String(headers['x-variable'])}, ${String(headers['x-basic'])}`,
    `at http://${String(headers.host)}${url} (host ${String(headers.host)})`,
  ].join('; ');
}

type Confession = readonly [how: string, reply: (words: string) => HttpReply];

const CONFESSIONS: readonly Confession[] = [
  ...[400, 401, 403, 404, 413, 422, 429, 500, 502, 503].flatMap((status): Confession[] => [
    [
      `with ${status} as JSON`,
      (message) => textReply(JSON.stringify({ error: { message } }), 'application/json', { status }),
    ],
    [`with ${status} as text`, (message) => textReply(message, 'text/plain', { status })],
  ]),
  [
    'as the code of an error',
    (code) => textReply(JSON.stringify({ error: { message: 'x', code } }), 'application/json', { status: 400 }),
  ],
  [
    'as the type of an error',
    (type) => textReply(JSON.stringify({ error: { message: 'x', type } }), 'application/json', { status: 400 }),
  ],
  [
    'as the parameter of an error',
    (param) => textReply(JSON.stringify({ error: { message: 'x', param } }), 'application/json', { status: 400 }),
  ],
  [
    'as the members of an error',
    (text) => textReply(JSON.stringify({ error: { message: { [text]: text } } }), 'application/json', { status: 400 }),
  ],
  ['behind many words', (text) => textReply(`${'word '.repeat(95)}${text}`, 'text/plain', { status: 400 })],
  ['behind nearly too many words', (text) => textReply(`${'x'.repeat(478)} ${text}`, 'text/plain', { status: 400 })],
  ['as an error in a stream', (message) => streamReply([`data: ${JSON.stringify({ error: { message } })}\n\n`])],
  ['as nonsense in a stream', (text) => streamReply([`data: ${text}\n\n`])],
  ['as a field of a stream', (text) => streamReply([`error: ${text}\n\n`])],
  [
    'as an error behind a word',
    (message) => streamReply([word(), `data: ${JSON.stringify({ error: { message } })}\n\n`]),
  ],
  ['as nonsense behind a word', (text) => streamReply([word(), `data: ${text}\n\n`])],
  [
    'as a refusal behind a word',
    (message) => streamReply([word(), `data: ${JSON.stringify({ error: { message, code: 400 } })}\n\n`]),
  ],
  ['as a page', (text) => textReply(`<html><body>${text}</body></html>`, 'text/html', { status: 200 })],
  ['as a redirection', (text) => textReply('', '', { status: 302, headers: { location: encodeURI(text) } })],
  [
    'as headers',
    (text) => textReply('{}', 'application/json', { status: 500, headers: { 'x-debug': text, 'retry-after': text } }),
  ],
];

function word(): string {
  return `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'One' } }] })}\n\n`;
}

describe('nothing of a file is seen when an upstream tells it', () => {
  it.each(CONFESSIONS)('nothing of a providers file is seen when an upstream tells it %s', async (_, reply) => {
    const upstream = service.upstream('a');
    const shown = await everythingOf('a', () => upstream.respond((request) => reply(confession(request))));
    expectHidden(shown);
    // Whoever was asked was sent all of it.
    const [request] = upstream.requests;
    expect(confession(request as never)).toContain(`Bearer ${KEY}; x-key ${HEADER}, x-variable a ${VARIABLE}`);
    expect(request?.url).toContain(QUERY);
    expectHidden(log.text);
  });
});

describe('a secret of a file is found in every disguise', () => {
  /** Base64 goes on with what is beside the secret. */
  const SAID = /Key <[\w+/]{0,6}\[redacted\][\w+/-]{0,3}={0,2}> is bad\./;

  async function say(reply: HttpReply, stream = false): Promise<string> {
    service.upstream('a').respond(() => reply);
    const answer = await fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'a', input: 'Hi', stream }),
    });
    return answer.text();
  }

  it.each(SECRET_ENCODINGS)('a secret of a providers file is found as %s', async (_, disguise) => {
    const message = `Key <${disguise(KEY)}> is bad.`;
    const error = JSON.stringify({ error: { message } });
    expect(await say(textReply(error, 'application/json', { status: 400 }))).toMatch(SAID);
    // It is the words of a refusal where the message has no quotes and no escapes of its own.
    expect(await say(textReply(message, 'text/plain', { status: 400 }))).toMatch(SAID);
    const refusal = JSON.stringify({ error: { message, code: 400 } });
    expect(await say(streamReply([word(), `data: ${refusal}\n\n`]), true)).toMatch(SAID);
    await say(textReply(error, 'application/json', { status: 500 }));
    expect(log.lines.join('\n')).toMatch(SAID);
    await say(streamReply([`data: ${disguise(KEY)}\n\n`]), true);
    for (const line of log.lines) expect(line).not.toContain(disguise(KEY).slice(0, 24));
  });

  it('a secret of a file is found in every disguise as the code of an error', async () => {
    const error = { message: 'x', code: KEY_AS_CODE };
    expect(await say(textReply(JSON.stringify({ error }), 'application/json', { status: 400 }))).not.toContain(
      KEY_AS_CODE,
    );
  });
});

describe('nothing of a file is seen when an upstream', () => {
  afterEach(() => expectHidden(log.text));

  it.each(['rude', 'closed', 'local', 'unknown'])(
    'nothing of a file is seen when an upstream cannot be spoken to: %s',
    async (model) => {
      expectHidden(await everythingOf(model));
    },
  );

  it('the log says why an upstream cannot be spoken to, and shows nothing of a file', async () => {
    await everythingOf('closed');
    await everythingOf('local');
    await everythingOf('unknown');
    expect(log.text).toMatch(/'closed': .*ECONNREFUSED/);
    expect(log.text).toMatch(/'local': .*ECONNREFUSED/);
    expect(log.text).toMatch(/'unknown': .*(?:ENOTFOUND|EAI_AGAIN)/);
  });

  it.each(['cut', 'reset', 'end'] as const)('nothing of a file is seen when an upstream breaks off: %s', async (by) => {
    const upstream = service.upstream('a');
    expectHidden(await everythingOf('a', () => upstream.answer({ text: ['x', 'y'] }, { breaks: { after: 2, by } })));
  });

  it('nothing of a file is seen when an upstream answers', async () => {
    expectHidden(await everythingOf('a'));
  });

  it('nothing of a file is seen when an upstream lists its models, or does not', async () => {
    const list = (): Promise<string> => fetch(`${service.baseURL}/models`).then((answer) => answer.text());
    expectHidden(await list());
    const words = `Bad key ${KEY} ${HEADER} at ${service.upstream('a').baseUrl}`;
    for (const status of [200, 401, 500]) {
      service.upstream('a').listReply(textReply(words, 'text/plain', { status }));
      expectHidden(await list());
    }
    const odd = {
      data: [
        { id: 'odd', owned_by: 'x', error: words },
        { id: 7, message: words },
      ],
    };
    service.upstream('a').listReply(textReply(JSON.stringify(odd), 'application/json'));
    expectHidden(await list());
    expectHidden(await fetch(`${service.baseURL}/models/odd`).then((answer) => answer.text()));
  });

  it('nothing of a file is seen when it is read again', async () => {
    await service.reload();
    expectHidden(log.text);
  });

  it('observers are told the name of an upstream only', () => {
    expect(observer.records.length).toBeGreaterThan(0);
    expectHidden(JSON.stringify(observer.records));
  });
});

describe('nothing of a file is seen', () => {
  it.each(['/health/live', '/health/ready', '/healthz', '/simulator/stats', '/v1/models', '/v1/providers', '/metrics'])(
    'nothing of a file is seen at %s',
    async (path) => {
      const answer = await fetch(`${service.origin}${path}`);
      expectHidden(await answer.text());
    },
  );
});
