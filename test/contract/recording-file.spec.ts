import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { EnvironmentError, ModelError, type ModelEvent } from '../../src/index.js';
import { SimulatorModule } from '../../src/simulator/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { RecordedSession } from '../support/recorded-session.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { postJson } from '../support/sse.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const hello = { model: 'scripted', input: 'What users say is nobody else’s business.' };

let session: RecordedSession;

beforeEach(async () => {
  session = await RecordedSession.begin();
});

afterEach(() => session[Symbol.asyncDispose]());

describe('a recording holds nothing of', () => {
  it('a recording holds nothing of what users said', async () => {
    await session.record(async (service) => {
      await JSON_TRANSPORT.run(service, { ...hello, user: 'ada-lovelace' });
    });
    expect(await session.turns()).toHaveLength(1);
    expect(await session.text()).not.toMatch(/business|ada-lovelace/);
  });

  it('a recording holds nothing of the simulator', async () => {
    await session.record(
      async (service) => {
        for (const model of ['gpt-5', 'scripted', 'gpt-4.1']) await JSON_TRANSPORT.run(service, { ...hello, model });
      },
      { imports: [SimulatorModule] },
    );
    expect(await session.turns()).toMatchObject([{ steps: [{ events: [{ type: 'text', delta: 'ok' }, {}] }] }]);
  });

  it('a recording holds nothing of warm-ups', async () => {
    await session.record(async (service) => {
      await using client = await SocketClient.open(service);
      await client.warmUp(hello);
      await client.close();
    });
    expect(await session.turns()).toEqual([]);
  });

  it.each([
    ['json', (url: string, signal: AbortSignal) => postJson(url, hello, { signal })],
    ['sse', (url: string, signal: AbortSignal) => postJson(url, { ...hello, stream: true }, { signal })],
  ])('turns that their client left on %s', async (_, post) => {
    const observer = new RecordingObserver();
    await session.record(
      async ({ baseURL }, provider) => {
        const begun = Promise.withResolvers<undefined>();
        provider.play(async function* (_turn, { signal }) {
          yield { type: 'text', delta: 'left' };
          begun.resolve(undefined);
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        });
        const client = new AbortController();
        const answer = post(`${baseURL}/responses`, client.signal);
        await begun.promise;
        client.abort();
        await expect(answer).rejects.toThrow('aborted');
        await observer.whenSettled(1);
      },
      { imports: [observer.asModule()] },
    );
    expect(await session.turns()).toEqual([]);
  });

  describe('credentials:', () => {
    const KEY = 'caller-key-of-team-a';
    const TOKEN = 'token "of"\nacme \\ with signs';
    const SECRETS = [
      ['a key of a caller', KEY],
      ['a secret variable', TOKEN],
      ['a bearer token', 'Bearer abcdef.123456'],
      ['something that looks like a key', 'sk-proj-abcdefgh12345678'],
    ] as const;
    /** Turns that say a secret in a text, fail with it, and pass it through. */
    const KINDS = ['text', 'error', 'item'] as const;
    /** What was recorded of each. */
    const recorded = new Map<string, unknown>();

    const eventsOf = (kind: string, secret: string): readonly ModelEvent[] => {
      const item = { type: 'mcp_call', status: 'completed', output: [`${secret};`] };
      if (kind === 'text') return [{ type: 'text', delta: `It is (${secret}), is it not?` }];
      return [
        { type: 'item.open', key: 's', item },
        { type: 'item.close', key: 's', item },
      ];
    };

    beforeAll(async () => {
      process.env['ACME_TOKEN'] = TOKEN;
      await using all = await RecordedSession.begin();
      const turns = SECRETS.flatMap(([, secret]) => KINDS.map((kind) => ({ kind, secret })));
      await all.record(
        async (service, provider) => {
          for (const { kind, secret } of turns) {
            provider.play(async function* () {
              if (kind === 'error') throw new ModelError('acme_error', `Refused: '${secret}'.`);
              yield* eventsOf(kind, secret);
              yield { type: 'finish', reason: 'stop' };
            });
            await postJson(`${service.baseURL}/responses`, hello, { headers: { authorization: `Bearer ${KEY}` } });
          }
        },
        { environment: { API_KEYS: `team-a:${KEY}` } },
      );
      const lines = await all.turns();
      expect(lines).toHaveLength(turns.length);
      turns.forEach(({ kind, secret }, index) => recorded.set(`${kind} ${secret}`, lines[index]));
    });

    afterAll(() => {
      delete process.env['ACME_TOKEN'];
    });

    it.each(SECRETS)('a recording redacts %s in a text', (_, secret) => {
      expect(recorded.get(`text ${secret}`)).toMatchObject({
        steps: [{ events: [{ delta: 'It is ([redacted]), is it not?' }] }, { events: [{ type: 'finish' }] }],
      });
    });

    it.each(SECRETS)('a recording redacts %s in an error', (_, secret) => {
      expect(recorded.get(`error ${secret}`)).toMatchObject({
        steps: [{ error: { message: "Refused: '[redacted]'." } }],
      });
    });

    it.each(SECRETS)('a recording redacts %s in what is passed through', (_, secret) => {
      expect(recorded.get(`item ${secret}`)).toMatchObject({
        steps: [{ events: [{ item: { output: ['[redacted];'] } }] }, {}, {}],
      });
    });
  });
});

describe('a file of recordings', () => {
  const run = (service: Service): Promise<unknown> => JSON_TRANSPORT.run(service, hello);

  it('a file of recordings is for the eyes of its tenant', async () => {
    await session.record(async (service) => {
      await run(service);
    });
    expect(await session.mode()).toBe(0o600);
  });

  it('a file of recordings is whole before the service has closed, however slowly it is written', async () => {
    // A pipe takes 64 KiB and then waits for its reader.
    execFileSync('mkfifo', [session.path]);
    const reading = open(session.path, 'r');
    let isClosed = false;
    const recording = session.record(async (service, provider) => {
      provider.reply({ type: 'text', delta: 'long '.repeat(100_000) });
      await run(service);
      service.app.getHttpServer().once('close', () => stopped.resolve(undefined));
    });
    const stopped = Promise.withResolvers<undefined>();
    const closed = recording.then(() => (isClosed = true));
    await stopped.promise;
    for (let loopTurn = 0; loopTurn < 100; loopTurn += 1) await nextLoopTurn();
    expect(isClosed).toBe(false);
    await using pipe = await reading;
    const written = (await pipe.readFile('utf8')).trimEnd().split('\n');
    await closed;
    expect(written.map((line): unknown => JSON.parse(line))).toMatchObject([
      { settings: {} },
      { steps: [{ events: [{ type: 'text' }, {}] }] },
    ]);
  });

  it('a file of recordings is gone on with by the next run', async () => {
    for (const delta of ['first run', 'second run']) {
      await session.record(async (service, provider) => {
        provider.reply({ type: 'text', delta });
        await JSON_TRANSPORT.run(service, { ...hello, input: delta });
      });
    }
    const lines = await session.lines();
    expect(lines.map((line) => Object.keys(line as object)[0])).toEqual(['settings', 'request', 'request']);
    await using service = await session.replay();
    for (const input of ['second run', 'first run']) {
      const { response } = await JSON_TRANSPORT.run(service, { model: 'session', input });
      expect(response['output_text']).toBe(input);
    }
  });

  it('a file of recordings may be begun by several processes at once', async () => {
    const say = (service: Service, input: string): Promise<unknown> => JSON_TRANSPORT.run(service, { ...hello, input });
    await session.record(async (one, first) => {
      await session.record(async (other, second) => {
        first.reply({ type: 'text', delta: 'of one' });
        second.reply({ type: 'text', delta: 'of the other' });
        await say(other, 'other');
        await say(one, 'one');
        await say(other, 'other again');
      });
    });
    await using service = await session.replay();
    for (const [input, expected] of [
      ['one', 'of one'],
      ['other', 'of the other'],
    ]) {
      const { response } = await JSON_TRANSPORT.run(service, { model: 'session', input });
      expect(response['output_text']).toBe(expected);
    }
  });

  it('a file of recordings is not begun where nothing is to be recorded', async () => {
    await (await startService({ providers: [ScriptedProvider], environment: { RECORD_FILE: '' } })).close();
    expect(existsSync(session.path)).toBe(false);
  });

  it.each([
    ['whose folder is missing', (path: string) => Promise.resolve(`${path}/missing/session.jsonl`)],
    ['that is a folder', (path: string) => mkdir(path).then(() => path)],
    ['in a folder that is a file', (path: string) => writeFile(path, '').then(() => `${path}/session.jsonl`)],
  ])('a file of recordings stops the start at a path %s', async (_, prepare) => {
    const path = await prepare(session.path);
    const start = startService({ providers: [ScriptedProvider], environment: { RECORD_FILE: path } });
    const error: unknown = await start.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(String(error)).toMatch(/RECORD_FILE: [^\n]*session\.jsonl[^\n]*\.$/m);
  });

  it.each([
    ['a wait without end', new ModelError('acme_error', 'Never.', { status: 503, retryAfterMs: Infinity })],
    ['an empty code', new ModelError('', 'Odd.', { status: 503 })],
  ])('a file of recordings can be replayed whatever a model fails with: %s', async (_, error) => {
    await session.record(async (service, provider) => {
      provider.play(async function* () {
        yield* [];
        throw error;
      });
      await expect(run(service)).rejects.toMatchObject({ status: 503 });
      await JSON_TRANSPORT.run(service, { ...hello, input: 'Next.' });
    });
    await using service = await session.replay();
    await expect(JSON_TRANSPORT.run(service, { ...hello, model: 'session' })).rejects.toMatchObject({ status: 503 });
    const { response } = await JSON_TRANSPORT.run(service, { model: 'session', input: 'Next.' });
    expect(response['output_text']).toBe('ok');
  });

  describe('of models that yield nonsense', () => {
    const NONSENSE: readonly (readonly [what: string, nonsense: unknown])[] = [
      ['no event', 42],
      ['an event without a type', {}],
      ['an event whose type is no text', { type: 42 }],
      ['null', null],
      ['a BigInt', { type: 'usage', input: 7n }],
    ];
    let recorded: RecordedSession;
    let service: Service;

    beforeAll(async () => {
      recorded = await RecordedSession.begin();
      await recorded.record(async (recording, provider) => {
        for (const [what, nonsense] of NONSENSE) {
          provider.play(async function* () {
            yield [nonsense as ModelEvent, { type: 'finish', reason: 'stop' }];
          });
          await postJson(`${recording.baseURL}/responses`, hello);
          provider.reply({ type: 'text', delta: `after ${what}` });
          await JSON_TRANSPORT.run(recording, { ...hello, input: `Next after ${what}.` });
        }
      });
      service = await recorded.replay();
    });

    afterAll(async () => {
      for (const used of [service, recorded]) await used[Symbol.asyncDispose]();
    });

    it.each(NONSENSE)('a file of recordings can be replayed whatever a model yields: %s', async (what) => {
      const { response } = await JSON_TRANSPORT.run(service, { model: 'session', input: `Next after ${what}.` });
      expect(response['output_text']).toBe(`after ${what}`);
    });
  });

  it('a file of recordings may fail without harm to the turns', async () => {
    // A device that takes nothing; elsewhere than on Linux there is none.
    if (!existsSync('/dev/full')) return;
    await using service = await startService({
      providers: [ScriptedProvider],
      environment: { RECORD_FILE: '/dev/full' },
    });
    for (const transport of TRANSPORTS) {
      expect((await transport.run(service, hello)).response.status).toBe('completed');
    }
  });
});
