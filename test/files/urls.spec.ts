import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { FakeSite, send } from '../web-search/fake-site.js';

const LIMIT = 1000;

const hung = Promise.withResolvers<ServerResponse>();

const site = await FakeSite.start({
  '/notes.md': send(200, { 'content-type': 'binary/octet-stream' }, 'Bees dance.'),
  '/page.html': '<body><p>Only <b>this</b></p>',
  '/latin': send(200, { 'content-type': 'text/plain; charset=ISO-8859-1' }, Buffer.from('caf\u00e9', 'latin1')),
  '/moved': send(302, { location: '/notes.md' }),
  '/around': send(302, { location: '/around' }),
  '/script': send(302, { location: 'file:///etc/passwd' }),
  '/image': send(200, { 'content-type': 'image/png' }, '\0'),
  '/long': send(200, { 'content-type': 'text/plain' }, 'x'.repeat(LIMIT + 1)),
  '/gone': send(410, {}),
  '/hangs': (_, answer) => {
    hung.resolve(answer);
  },
});

const environment = { FILE_INPUT_MAX_BYTES: LIMIT, FILE_URL_TIMEOUT_MS: 120_000 };
const providers = [ScriptedProvider];
const open = useService({ providers, environment: { ...environment, FILE_URLS: 'any' } });
const closed = useService({ providers, environment });
const shut = useService({ providers, environment: { FILE_URLS: 'none' } });

afterAll(() => site.close());

beforeEach(() => {
  site.requests.length = 0;
  for (const { provider } of [open, closed, shut]) Object.assign(provider, { takesFiles: false, takesFileUrls: true });
});

function ask(parts: readonly object[], service: Pick<typeof open, 'client'> = open, more: object = {}) {
  const body = { model: 'scripted', input: [{ role: 'user', content: parts }], ...more } as never;
  return service.client().responses.create(body) as Promise<{ id: string }>;
}

const fileAt = (path: string, more: object = {}) => ({ type: 'input_file', file_url: `${site.url}${path}`, ...more });

/** The parts of the messages that the model was asked with last. */
const partsFor = (provider: ScriptedProvider): readonly unknown[] =>
  (provider.turns.at(-1)?.context ?? []).flatMap(({ role, content }) =>
    role === 'user' ? (content as readonly unknown[]) : [],
  );

const seen = (): readonly unknown[] => partsFor(open.provider);

const note = (path: string, fault: string) => ({
  type: 'input_text',
  text: `(The file at '${site.url}${path}' cannot be read: ${fault}.)`,
});

const text = (name: string, says: string) => ({
  type: 'input_text',
  text: `<file name="${name}" page="1">\n${says}\n</file>`,
});

const REFUSED = { status: 400, code: 'invalid_value', param: 'input[0].content[0]' };

describe('a file by its URL', () => {
  it('a file by its URL is text for a model that takes no files, and data for one that takes no URLs', async () => {
    const parts = [fileAt('/moved'), fileAt('/page.html', { filename: 'mine' }), fileAt('/latin')];
    const { id } = await ask(parts);
    expect(seen()).toEqual([text('notes.md', 'Bees dance.'), text('mine', 'Only **this**'), text('latin', 'café')]);
    const { data } = await open.client().responses.inputItems.list(id);
    expect(data).toEqual([expect.objectContaining({ content: parts.map((part) => expect.objectContaining(part)) })]);
    Object.assign(open.provider, { takesFiles: true, takesFileUrls: false });
    await ask([fileAt('/notes.md')]);
    const file_data = `data:text/markdown;base64,${Buffer.from('Bees dance.').toString('base64')}`;
    expect(seen()).toEqual([{ type: 'input_file', filename: 'notes.md', file_data }]);
  });

  it('a file by its URL is left to a model that takes it', async () => {
    open.provider.takesFiles = true;
    await ask([fileAt('/notes.md')]);
    expect(seen()).toEqual([fileAt('/notes.md')]);
    expect(site.requests).toEqual([]);
  });

  it.each([
    ['/gone', 'It has answered 410'],
    ['/around', 'more than 5 redirects'],
    ['/script', 'not one of http or https'],
    ['/image', "the type 'image/png' cannot be read"],
    ['/long', `more than ${LIMIT} bytes`],
  ])('a file by its URL is refused: %s', async (path, fault) => {
    await expect(ask([fileAt(path)])).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining(fault) });
  });

  it('a file by its URL counts as others do', async () => {
    site.pages['/half'] = send(200, { 'content-type': 'text/plain' }, 'x'.repeat(LIMIT / 2 + 1));
    await ask([fileAt('/half')]);
    const refused = { ...REFUSED, param: 'input[0].content[1]' };
    await expect(ask([fileAt('/half'), fileAt('/half')])).rejects.toMatchObject(refused);
  });

  it('a file by its URL is not asked for within the network of the service, where that is not wanted', async () => {
    for (const file_url of [`${site.url}/notes.md`, 'http://localhost/', 'http://[::1]/', 'http://u:p@example.com/']) {
      await expect(ask([{ type: 'input_file', file_url }], closed)).rejects.toMatchObject(REFUSED);
    }
    await expect(ask([fileAt('/notes.md')], shut)).rejects.toMatchObject(REFUSED);
    expect(site.requests).toEqual([]);
  });

  it.each([
    ['is gone', send(410, {}), 'It has answered 410'],
    ['is out of order', send(500, {}), 'It has answered 500'],
    ['is another place by now', send(302, { location: 'ftp://example.com/' }), 'Its URL is not one of http or https'],
    [
      'breaks off',
      (_: unknown, answer: ServerResponse) => void answer.destroy(),
      'It cannot be reached: UND_ERR_SOCKET',
    ],
  ])(
    'a file by its URL of an earlier turn is a note that says what has happened, where its server %s',
    async (_, answer, fault) => {
      site.pages['/passing'] = send(200, { 'content-type': 'text/plain' }, 'For now.');
      const { id } = await ask([fileAt('/passing'), fileAt('/passing')]);
      site.pages['/passing'] = answer;
      site.requests.length = 0;
      await ask([{ type: 'input_text', text: 'And?' }], open, { previous_response_id: id });
      expect(seen().slice(0, 2)).toEqual([note('/passing', fault), note('/passing', fault)]);
      expect(site.requests).toEqual(['/passing']);
    },
  );

  it('a file by its URL of an earlier turn is a note that says how long it was waited for', async () => {
    const clock = new FakeClock();
    await using service = await startService({
      providers,
      environment: { FILE_URLS: 'any', FILE_URL_TIMEOUT_MS: 5000 },
      overrides: [[Clock, clock]],
    });
    const provider = service.app.get(ScriptedProvider);
    provider.takesFiles = false;
    site.pages['/slow'] = send(200, { 'content-type': 'text/plain' }, 'Now.');
    const { id } = await ask([fileAt('/slow'), fileAt('/notes.md')], service);
    site.pages['/slow'] = () => clock.advance(5000);
    await ask([{ type: 'input_text', text: 'And?' }], service, { previous_response_id: id });
    expect(partsFor(provider).slice(0, 2)).toEqual([
      note('/slow', 'It did not answer within 5000 ms'),
      note('/notes.md', 'It was not asked for: others have taken 5000 ms (FILE_URL_TIMEOUT_MS)'),
    ]);
  });

  it('a file by its URL is no longer fetched when its client has left', async () => {
    const leave = new AbortController();
    const body = { model: 'scripted', input: [{ role: 'user', content: [fileAt('/hangs')] }], stream: true };
    const asked = open.client().responses.create(body as never, { signal: leave.signal });
    const answer = await hung.promise;
    const closing = once(answer, 'close');
    leave.abort();
    await expect(asked).rejects.toThrow();
    await closing;
  });
});
