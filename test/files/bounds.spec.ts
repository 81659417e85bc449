import { createHash } from 'node:crypto';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type APIError, toFile } from 'openai';

import { FileBudget } from '../../src/files/index.js';
import { type Script, ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { until } from '../support/held-bodies.js';
import { scannedPdf } from '../support/scanned-pdf.js';
import { FakeSite } from '../web-search/fake-site.js';

const MOST_CHARACTERS = 5000;
const TOTAL_BYTES = 4000;

const site = await FakeSite.start({
  '/a.txt': (_, answer) => void answer.writeHead(200, { 'content-type': 'text/plain' }).end(TEXT),
});

/** What the model is given of it has 40 characters more, but not a thousand. */
const TEXT = 'x'.repeat(400);

const service = useService({
  providers: [ScriptedProvider],
  environment: {
    API_KEYS: 'ada:test',
    FILE_URLS: 'any',
    FILE_INPUT_MAX_BYTES: TOTAL_BYTES,
    FILE_INPUT_MAX_CHARACTERS: MOST_CHARACTERS,
    FILE_INPUT_TOTAL_BYTES: TOTAL_BYTES,
    BACKGROUND_MAX_RUNNING: 1,
  },
});

beforeEach(() => {
  site.requests.length = 0;
  service.provider.takesFiles = false;
});

afterAll(() => site.close());

const toInput = (parts: readonly object[]) => [{ role: 'user', content: parts }] as never;

async function ask(parts: readonly object[], more: object = {}): Promise<{ readonly id: string }> {
  const body = { model: 'scripted', input: toInput(parts), ...more } as never;
  return service.client({ maxRetries: 0 }).responses.create(body);
}

async function store(content: string): Promise<string> {
  const file = await toFile(Buffer.from(content), 'a.txt');
  return (await service.client().files.create({ file, purpose: 'user_data' })).id;
}

const dataOf = (content: string | Uint8Array): string => Buffer.from(content).toString('base64');

const heldBytes = (): number => service.app.get(FileBudget).bytes;

describe('the files of a turn', () => {
  const KINDS: readonly (readonly [kind: string, part: () => Promise<object>])[] = [
    ['file_id', async () => ({ type: 'input_file', file_id: await store(TEXT) })],
    ['file_data', async () => ({ type: 'input_file', filename: 'a.txt', file_data: dataOf(TEXT) })],
    ['file_url', async () => ({ type: 'input_file', file_url: `${site.url}/a.txt` })],
  ];

  it.each(KINDS)(
    'the files of a turn count for each part with the same %s, and have a bound of characters',
    async (kind, toPart) => {
      const part = await toPart();
      const most = Array.from({ length: Math.floor(TOTAL_BYTES / TEXT.length) }, () => part);
      await ask(most);
      const content = service.provider.turns.at(-1)?.context[0]?.content as readonly object[];
      expect(content).toEqual(most.map(() => ({ type: 'input_text', text: expect.stringContaining(TEXT) })));
      // Read once, they are one object.
      expect(new Set(content).size).toBe(1);
      expect(site.requests).toHaveLength(kind === 'file_url' ? 1 : 0);
      // Thirty more of them are within the bytes, but not within the characters.
      const { id } = await ask(most.slice(1));
      const tiny = Array.from({ length: 30 }, () => ({
        type: 'input_file',
        filename: 'b.txt',
        file_data: dataOf('y'),
      }));
      const message: unknown = expect.stringContaining('FILE_INPUT_MAX_CHARACTERS');
      const refused = { status: 400, code: 'invalid_value', message };
      await expect(ask([...most.slice(1), ...tiny])).rejects.toMatchObject({
        ...refused,
        param: expect.stringMatching(/^input\[0\]\.content\[\d\d\]$/),
      });
      await expect(ask(tiny, { previous_response_id: id })).rejects.toMatchObject({
        ...refused,
        param: 'previous_response_id',
      });
    },
  );

  it('the files of a turn count the images of their pages, as often as parts name them', async () => {
    // Two pages with a picture that does not become smaller.
    const digests = Array.from({ length: 13 }, (_, index) => createHash('sha256').update(`${index}`).digest());
    const noise = Buffer.concat(digests).subarray(0, 2 * 14 * 14);
    const scan = { type: 'input_file', filename: 'scan.pdf', file_data: dataOf(scannedPdf(8, noise)) };
    await ask([scan]);
    const refused = { param: 'input[0].content[1]', message: expect.stringContaining('FILE_INPUT_MAX_CHARACTERS') };
    await expect(ask([scan, scan])).rejects.toMatchObject({ status: 400, ...refused });
  });

  it('the files of a turn are refused in a later turn with the conversation that they stand in', async () => {
    const file_id = await store('z'.repeat(TOTAL_BYTES / 2 + 1));
    const { id: conversation } = await service.client().conversations.create();
    await ask([{ type: 'input_file', file_id }], { conversation });
    const refused = { status: 400, param: 'conversation', message: expect.stringContaining('FILE_INPUT_MAX_BYTES') };
    await expect(ask([{ type: 'input_file', file_id }], { conversation })).rejects.toMatchObject(refused);
  });
});

describe('the files of running turns', () => {
  const LARGE = 'z'.repeat(TOTAL_BYTES / 2);

  /** A script that holds its turn until it is told to go on. */
  function hold() {
    const [running, goOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const script: Script = async function* (_, { signal }) {
      signal.addEventListener('abort', () => goOn.resolve(undefined));
      running.resolve(undefined);
      await goOn.promise;
      yield { type: 'text', delta: 'Done.' };
      yield { type: 'finish', reason: 'stop' };
    };
    service.provider.play(script);
    return { running: running.promise, goOn: () => goOn.resolve(undefined) };
  }

  async function large(): Promise<readonly object[]> {
    service.provider.takesFiles = true;
    return [{ type: 'input_file', file_id: await store(LARGE) }];
  }

  it('the files of running turns have a budget in a process: beyond it a turn is refused for a while, and one without files is not', async () => {
    const [parts, held] = [await large(), hold()];
    const first = ask(parts);
    await held.running;
    expect(heldBytes()).toBeGreaterThanOrEqual(LARGE.length);
    const refusal = (await ask(parts).catch((error: unknown) => error)) as APIError;
    expect(refusal).toMatchObject({ status: 503, code: 'server_is_overloaded' });
    expect(refusal.headers?.get('retry-after')).toBe('1');
    await ask([{ type: 'input_text', text: 'Hi' }]);
    held.goOn();
    await first;
    await ask(parts);
  });

  it('the files of running turns are freed when their turn is complete, fails, is refused, is counted, or its client leaves', async () => {
    const parts = await large();
    await ask(parts);
    expect(heldBytes()).toBe(0);

    service.provider.play(async function* () {
      expect(heldBytes()).toBeGreaterThan(0);
      throw new Error('the model breaks');
    });
    await expect(ask(parts)).rejects.toMatchObject({ status: 500 });
    expect(heldBytes()).toBe(0);

    const missing = { type: 'input_file', file_id: `file_${'0'.repeat(32)}` };
    await expect(ask([...parts, missing])).rejects.toMatchObject({ status: 400, param: 'input[0].content[1]' });
    expect(heldBytes()).toBe(0);

    await service.client().responses.inputTokens.count({ model: 'scripted', input: toInput(parts) });
    expect(heldBytes()).toBe(0);

    const [held, leave] = [hold(), new AbortController()];
    const body = { model: 'scripted', input: toInput(parts) };
    const left = service.client().responses.create(body, { signal: leave.signal });
    await held.running;
    expect(heldBytes()).toBeGreaterThan(0);
    leave.abort();
    await expect(left).rejects.toThrow('aborted');
    await until(() => heldBytes() === 0);
  });

  it('the files of running turns are freed once a background turn is queued, and when it is cancelled', async () => {
    const [parts, held] = [await large(), hold()];
    const running = await createInBackground(service, { input: toInput(parts) });
    await held.running;
    expect(heldBytes()).toBeGreaterThan(0);
    await service.client().responses.cancel(running.id);
    await until(() => heldBytes() === 0);
  });

  it('a background turn waits in its queue while there is no room for its files', async () => {
    const parts = await large();
    const before = hold();
    const blocking = await createInBackground(service);
    await before.running;
    const waiting = await createInBackground(service, { input: toInput(parts) });
    expect(heldBytes()).toBe(0);
    const held = hold();
    const first = ask(parts);
    await held.running;
    const asked = service.provider.turns.length;
    before.goOn();
    await whenEnded(service, blocking.id);
    // Its turn in the queue comes, and finds no room.
    const next = await createInBackground(service);
    expect(await whenEnded(service, next.id)).toMatchObject({ status: 'completed' });
    expect(await service.client().responses.retrieve(waiting.id)).not.toMatchObject({ status: 'failed' });
    expect(service.provider.turns).toHaveLength(asked + 1);
    held.goOn();
    await first;
    expect(await whenEnded(service, waiting.id)).toMatchObject({ status: 'completed' });
  });
});
