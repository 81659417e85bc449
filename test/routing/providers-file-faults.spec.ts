import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { RESERVED_NAMES } from '../../src/providers/routing/chat-completions-kind.js';
import { failedStart, faultOfFile, type StartFault, useFailingReload } from '../support/providers-file.js';
import { ServiceLog } from '../support/service-log.js';

/** Stands in every file, and in what is wrong with it. */
const SECRET = 'tz-top-secret-0123456789';

const URL = 'http://127.0.0.1:9/v1';
const gpu = { base_url: URL, api_key: SECRET, headers: { 'x-key': SECRET } };

/** A file whose only provider has these members as well. */
const provider = (members: object): object => ({ providers: { gpu: { ...gpu, ...members } } });

/** A file with a provider and these models. */
const models = (...entries: readonly object[]): object => ({ providers: { gpu }, models: entries });

const json = useFailingReload('providers.json');
const yaml = useFailingReload('providers.yaml');

/** The one line in which a reload fails. */
const lineOf = async (content: string | object): Promise<string> =>
  requireLine(await (typeof content === 'string' ? yaml : json)(content));

/** The one line that stops a start. */
const stopOf = async (content: string | object, name: { readonly name?: string } = {}): Promise<string> =>
  requireLine(await faultOfFile({ content, ...name }));

/** Throws unless it is one line that names the variable, and nothing of the file is told. */
function requireLine({ message, logged }: StartFault): string {
  expect(message).toMatch(/^PROVIDERS_FILE: [^\n]+$/);
  expect(message).not.toContain(SECRET);
  expect(logged).not.toContain(SECRET);
  return message;
}

beforeAll(() => {
  Object.assign(process.env, { ROUTING_TEST_KEY: SECRET, ROUTING_TEST_EMPTY: '' });
});

afterAll(() => {
  delete process.env['ROUTING_TEST_KEY'];
  delete process.env['ROUTING_TEST_EMPTY'];
});

describe('a provider that cannot be', () => {
  it.each<readonly [what: string, members: object, place: string]>([
    ['of another kind', { kind: SECRET }, 'providers.gpu.kind'],
    ['of another dialect', { dialect: SECRET }, 'providers.gpu.dialect'],
    ['with tags that are no list', { reasoning_tags: 'think' }, 'providers.gpu.reasoning_tags'],
    ['with a list without tags', { reasoning_tags: [] }, 'providers.gpu.reasoning_tags'],
    ['with a tag in brackets', { reasoning_tags: ['<think>'] }, 'providers.gpu.reasoning_tags[0]'],
    ['with a member that nobody knows', { [SECRET]: SECRET }, 'providers.gpu'],
    ['with a name of the prototype', { constructor: SECRET }, 'providers.gpu'],
    ['with a key that is no text', { api_key: 1 }, 'providers.gpu.api_key'],
    ['with an empty key', { api_key: '' }, 'providers.gpu.api_key'],
    ['with a key on two lines', { api_key: `${SECRET}\nx` }, 'providers.gpu.api_key'],
    ['with a key of characters that headers cannot hold', { api_key: `${SECRET}✓` }, 'providers.gpu.api_key'],
    ['with headers that are a list', { headers: [SECRET] }, 'providers.gpu.headers'],
    ['with a header that is a number', { headers: { 'x-key': 7 } }, 'providers.gpu.headers.x-key'],
    ['with a header on two lines', { headers: { 'x-key': `${SECRET}\r\nx: y` } }, 'providers.gpu.headers'],
    ['with a header under no name', { headers: { [`Bearer ${SECRET}`]: 'x' } }, 'providers.gpu.headers'],
    ['with a header under an empty name', { headers: { '': SECRET } }, 'providers.gpu.headers'],
    ['with a query that is no record', { query: SECRET }, 'providers.gpu.query'],
    ['with a number in the query', { query: { 'api-version': 1 } }, 'providers.gpu.query.api-version'],
    ['with timeouts that are a number', { timeouts: 5 }, 'providers.gpu.timeouts'],
    ['with a timeout that nobody knows', { timeouts: { [SECRET]: 5 } }, 'providers.gpu.timeouts'],
    ['with a timeout of nothing', { timeouts: { idle_ms: 0 } }, 'providers.gpu.timeouts.idle_ms'],
    ['with a timeout in words', { timeouts: { connect_ms: SECRET } }, 'providers.gpu.timeouts.connect_ms'],
    ['with half a millisecond', { timeouts: { first_byte_ms: 0.5 } }, 'providers.gpu.timeouts.first_byte_ms'],
    ['with a timeout no timer can hold', { timeouts: { idle_ms: 2 ** 31 } }, 'providers.gpu.timeouts.idle_ms'],
    ['with fewer than no retries', { retries: -1 }, 'providers.gpu.retries'],
    ['with half a retry', { retries: 1.5 }, 'providers.gpu.retries'],
    ['with too many retries', { retries: 101 }, 'providers.gpu.retries'],
    ['without connections', { connections: 0 }, 'providers.gpu.connections'],
    ['that discovers perhaps', { discover: SECRET }, 'providers.gpu.discover'],
    ['that forwards a text', { forward: SECRET }, 'providers.gpu.forward'],
    ['that forwards numbers', { forward: ['top_k', 7] }, 'providers.gpu.forward[1]'],
    ['that forwards the prototype', { forward: ['top_k', '__proto__'] }, 'providers.gpu.forward[1]'],
    ['that forwards a text of several words', { forward: [`${SECRET} x`] }, 'providers.gpu.forward[0]'],
    ['that omits what no request is without', { omit: ['messages'] }, 'providers.gpu.omit[0]'],
    ['that forwards something twice', { forward: [SECRET, SECRET] }, 'providers.gpu.forward'],
    ['that omits a record', { omit: [{ [SECRET]: 1 }] }, 'providers.gpu.omit[0]'],
    ['with capabilities in a list', { capabilities: [SECRET] }, 'providers.gpu.capabilities'],
    ['with a capability that nobody knows', { capabilities: { [SECRET]: true } }, 'providers.gpu.capabilities'],
    ['with a capability in words', { capabilities: { images: SECRET } }, 'providers.gpu.capabilities.images'],
    ['with another place', { capabilities: { system_role: SECRET } }, 'providers.gpu.capabilities.system_role'],
    ['with other ids', { capabilities: { call_ids: SECRET } }, 'providers.gpu.capabilities.call_ids'],
    ['with null for a flag', { capabilities: { tools: null } }, 'providers.gpu.capabilities.tools'],
  ])('a provider %s is refused', async (_, members, place) => {
    expect(await lineOf(provider(members))).toContain(place);
  });

  it.each<readonly [what: string, url: unknown]>([
    ['without an address', undefined],
    ['with a number for an address', 7],
    ['with an empty address', ''],
    ['with a path for an address', `/v1/${SECRET}`],
    ['over another protocol', `ftp://${SECRET}.example/v1`],
    ['with a user in the address', `http://${SECRET}@127.0.0.1/v1`],
    ['with credentials in the address', `https://user:${SECRET}@127.0.0.1/v1`],
    ['with credentials that hold a slash', `https://user:${SECRET}/x@127.0.0.1/v1`],
    ['without a host', 'http:///v1'],
    ['with a host that is none', `http://${SECRET} x/v1`],
    ['with a port that is none', `http://127.0.0.1:${SECRET}/v1`],
    ['with a port that is too high', 'http://127.0.0.1:65536/v1'],
  ])('a provider %s is refused', async (_, base_url) => {
    expect(await lineOf(provider({ base_url }))).toMatch(/providers\.gpu\b.*base_url/);
  });

  it.each(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect'])(
    'a provider is refused with the header %s, which belongs to HTTP itself',
    async (name) => {
      expect(await lineOf(provider({ headers: { [name]: '5' } }))).toContain('providers.gpu.headers');
    },
  );

  it.each([...RESERVED_NAMES])('a provider is refused that forwards %s', async (name) => {
    expect(await lineOf(provider({ forward: ['top_k', name] }))).toContain('providers.gpu.forward[1]');
  });

  it.each<readonly [what: string, providers: unknown, place: string]>([
    ['under a name with a capital', { GPU: gpu }, 'providers'],
    ['under a name with a dot', { 'a.b': gpu }, 'providers'],
    ['under a name with a secret in it', { [`${SECRET} `]: gpu }, 'providers'],
    ['under an empty name', { '': gpu }, 'providers'],
    ['under a name that begins with a dash', { '-gpu': gpu }, 'providers'],
    ['that is a text', { gpu: SECRET }, 'providers.gpu'],
    ['that is nothing', { gpu: null }, 'providers.gpu'],
    ['in a list', [{ name: 'gpu', ...gpu }], 'providers'],
  ])('a provider %s is refused', async (_, providers, place) => {
    expect(await lineOf({ providers })).toContain(place);
  });
});

describe('an entry of the models that cannot be', () => {
  const x = { provider: 'gpu' };

  it.each<readonly [what: string, entry: unknown, place: string]>([
    ['without anything', {}, 'models[1]'],
    ['that is a text', SECRET, 'models[1]'],
    ['without a match', { ...x, model: SECRET }, 'models[1]'],
    ['with two matches', { ...x, name: SECRET, prefix: 'a' }, 'models[1]'],
    ['that is the default under a name', { ...x, name: SECRET, default: true }, 'models[1]'],
    ['that is not the default', { ...x, default: false }, 'models[1]'],
    ['without a target', { name: SECRET }, 'models[1]'],
    ['with two targets', { ...x, name: 'a', upstreams: [{ provider: 'gpu', model: SECRET }] }, 'models[1]'],
    ['that is an alias with a target', { ...x, name: 'a', alias: 'first' }, 'models[1]'],
    ['that is an alias without a name', { prefix: SECRET, alias: 'first' }, 'models[1]'],
    ['that is an alias of nothing', { name: 'a', alias: SECRET }, 'models[1].alias'],
    ['that is an alias of a pattern', { name: 'a', alias: 'second' }, 'models[1].alias'],
    ['that is an alias of itself', { name: SECRET, alias: SECRET }, 'models[1].alias'],
    ['with an empty name', { ...x, name: '' }, 'models[1].name'],
    ['with a number for a name', { ...x, name: 7 }, 'models[1].name'],
    ['with an empty prefix', { ...x, prefix: '' }, 'models[1].prefix'],
    ['with an empty glob', { ...x, glob: '' }, 'models[1].glob'],
    ['with an endless glob', { ...x, glob: SECRET.repeat(20) }, 'models[1].glob'],
    ['that strips a name', { ...x, name: SECRET, strip: true }, 'models[1]'],
    ['with a model for several upstreams', { name: 'a', upstreams: [x], model: SECRET }, 'models[1]'],
    ['with a provider that is not there', { name: 'a', provider: SECRET }, 'models[1]'],
    ['with no upstream', { name: SECRET, upstreams: [] }, 'models[1].upstreams'],
    ['with upstreams in a record', { name: 'a', upstreams: { [SECRET]: x } }, 'models[1].upstreams'],
    ['with an upstream without a provider', { name: 'a', upstreams: [x, { model: SECRET }] }, 'models[1].upstreams[1]'],
    ['with an upstream that is not there', { name: 'a', upstreams: [x, { provider: SECRET }] }, 'models[1]'],
    [
      'with a member of an upstream that nobody knows',
      { name: 'a', upstreams: [{ ...x, [SECRET]: 1 }] },
      'upstreams[0]',
    ],
    ['without weight', { name: 'a', upstreams: [{ ...x, weight: 0 }] }, 'models[1].upstreams[0].weight'],
    ['with less than no weight', { name: 'a', upstreams: [{ ...x, weight: -1 }] }, 'models[1].upstreams[0].weight'],
    ['with weight in words', { name: 'a', upstreams: [{ ...x, weight: SECRET }] }, 'models[1].upstreams[0].weight'],
    ['with endless weight', { name: 'a', upstreams: [{ ...x, weight: 1e9 }] }, 'models[1].upstreams[0].weight'],
    ['with a window in words', { ...x, name: 'a', context_window: SECRET }, 'models[1].context_window'],
    ['with no window', { ...x, name: 'a', context_window: 0 }, 'models[1].context_window'],
    ['with no output', { ...x, name: 'a', max_output_tokens: 0 }, 'models[1].max_output_tokens'],
    ['with half a token', { ...x, name: 'a', max_output_tokens: 1.5 }, 'models[1].max_output_tokens'],
    [
      'with an effort that nobody knows',
      { ...x, name: 'a', reasoning_efforts: [SECRET] },
      'models[1].reasoning_efforts[0]',
    ],
    [
      'with the same effort twice',
      { ...x, name: 'a', reasoning_efforts: ['low', 'low'] },
      'models[1].reasoning_efforts',
    ],
    ['with an empty tenant', { ...x, name: 'a', owned_by: '' }, 'models[1].owned_by'],
    ['with a member that nobody knows', { ...x, name: 'a', [SECRET]: SECRET }, 'models[1]'],
    ['under a name that is there', { ...x, name: 'first' }, 'models[1].name'],
  ])('an entry of the models %s is refused', async (_, entry, place) => {
    const first = { name: 'first', provider: 'gpu' };
    const second = { prefix: 'second', provider: 'gpu' };
    expect(await lineOf(models(first, entry as object, second))).toContain(place);
  });

  it('a model is refused that is an alias of an alias', async () => {
    const line = await lineOf(models({ name: 'a', ...x }, { name: SECRET, alias: 'a' }, { name: 'c', alias: SECRET }));
    expect(line).toContain('models[2].alias');
  });

  it('a model is refused under a name that is there, which is not shown', async () => {
    expect(await stopOf(models({ name: SECRET, ...x }, { name: SECRET, ...x }))).toContain('models[1].name');
  });

  it('a model is refused as the second default', async () => {
    const first = { default: true, ...x };
    expect(await lineOf(models(first, { name: SECRET, ...x }, { ...first, model: SECRET }))).toMatch(
      /models\b.*default/,
    );
  });

  it('models are refused that are no list', async () => {
    expect(await lineOf({ providers: { gpu }, models: { first: { name: SECRET, ...x } } })).toContain('models');
  });

  it('models are refused with every fault in a line of its own', async () => {
    const entry = { name: 7, prefix: SECRET, [SECRET]: true };
    const content = { providers: { gpu: { kind: SECRET } }, models: [entry, entry] };
    const { message } = await faultOfFile({ content });
    expect(message).not.toContain(SECRET);
    for (const place of ['providers.gpu', 'models[0].name', 'models[1].name', 'models[1]']) {
      expect(message).toMatch(new RegExp(`^PROVIDERS_FILE: .*: ${RegExp.escape(place)} must .*\\.$`, 'm'));
    }
  });

  it('models are refused with every reference to the environment that is not set', async () => {
    const members = { api_key: '${ROUTING_TEST_UNSET}', headers: { 'x-a': '${ROUTING_TEST_OTHER}' } };
    const { message } = await faultOfFile({ content: provider(members) });
    for (const name of ['UNSET', 'OTHER']) expect(message).toContain(`ROUTING_TEST_${name}, which is not set.`);
  });
});

describe('a reference to the environment', () => {
  it.each<readonly [what: string, content: object, place: string]>([
    ['that is not set', provider({ api_key: '${ROUTING_TEST_UNSET}' }), 'providers.gpu.api_key'],
    [
      'that is not set, in the middle',
      provider({ headers: { 'x-a': 'a ${ROUTING_TEST_UNSET} b' } }),
      'providers.gpu.headers.x-a',
    ],
    ['that is not set, in a list', provider({ forward: ['a', '${ROUTING_TEST_UNSET}'] }), 'providers.gpu.forward[1]'],
    ['that is not set, in a model', models({ name: '${ROUTING_TEST_UNSET}', provider: 'gpu' }), 'models[0].name'],
    [
      'beside one that is set',
      provider({ api_key: '${ROUTING_TEST_KEY}${ROUTING_TEST_UNSET}' }),
      'providers.gpu.api_key',
    ],
  ])('%s stops the start, which names place and variable', async (_, content, place) => {
    const line = await lineOf(content);
    expect(line).toContain(place);
    expect(line).toContain('ROUTING_TEST_UNSET');
  });

  it('a reference to the environment that is empty counts as not set', async () => {
    expect(await stopOf(provider({ api_key: '${ROUTING_TEST_EMPTY}' }))).toContain('ROUTING_TEST_EMPTY');
  });

  it.each<readonly [what: string, content: object, place: string]>([
    ['a provider', models({ name: 'a', provider: '${ROUTING_TEST_KEY}' }), 'models[0]'],
    ['an alias', models({ name: 'a', alias: '${ROUTING_TEST_KEY}' }), 'models[0].alias'],
    ['a name twice', models(...[1, 2].map(() => ({ name: '${ROUTING_TEST_KEY}', provider: 'gpu' }))), 'models[1].name'],
    ['an address', provider({ base_url: '${ROUTING_TEST_KEY}' }), 'providers.gpu.base_url'],
    ['a dialect', provider({ dialect: '${ROUTING_TEST_KEY}' }), 'providers.gpu.dialect'],
  ])('a reference in the wrong place does not show what it stands for: %s', async (_, content, place) => {
    expect(await lineOf(content)).toContain(place);
  });
});

describe('a file that cannot be read', () => {
  it.each<readonly [what: string, text: string]>([
    ['indented wrongly', `providers:\n  gpu:\n   base_url: ${URL}\n  api_key: ${SECRET}\n models: []\n`],
    ['with a tab', `providers:\n\tgpu: ${SECRET}\n`],
    ['with an open quote', `providers:\n  gpu:\n    api_key: "${SECRET}\n`],
    ['with an open brace', `providers: { gpu: { api_key: ${SECRET}\n`],
    ['with a colon too many', `providers:\n  gpu: api_key: ${SECRET}\n`],
    [
      'with a member twice',
      `providers:\n  gpu:\n    base_url: ${URL}\n    api_key: ${SECRET}\n    api_key: ${SECRET}\n`,
    ],
    ['with an anchor that is not there', `providers:\n  gpu:\n    base_url: ${URL}\n    api_key: *${SECRET}\n`],
    [
      'with a tag that nobody knows',
      `providers:\n  gpu: !${SECRET}\n    base_url: ${URL}\n    api_key: [!x ${SECRET}]\n`,
    ],
    ['of two documents', `providers: {}\n---\nproviders:\n  gpu: ${SECRET}\n`],
    ['that is a text', SECRET],
    ['that is a number', '7'],
    ['that is a list', `- ${SECRET}\n`],
    ['with a member that nobody knows', `${SECRET}: true\n`],
    ['with a record for a name', `? { ${SECRET}: 1 }\n: ${SECRET}\n`],
    ['of bytes that are no text', `\u0000\u0001${SECRET}`],
  ])('a file %s is no providers file', async (_, text) => {
    await lineOf(text);
  });

  it('a file is refused for what is wrong with its YAML, with line and column', async () => {
    const line = await stopOf(`providers:\n  gpu:\n    api_key: "${SECRET}\n`);
    expect(line).toMatch(/at line \d+, column \d+: Missing closing "quote\.$/);
  });

  it.each([
    ['cut off', `{"providers":{"gpu":{"base_url":"${URL}","api_key":"${SECRET}"`],
    ['with a word too many', `{"providers":{"gpu":{"base_url":"${URL}","api_key":"${SECRET}"}} ${SECRET}}`],
    ['that is a text', `"${SECRET}"`],
    ['that is a list', `["${SECRET}"]`],
  ])('a file in JSON is refused: %s', async (_, text) => {
    await stopOf(text, { name: 'providers.json' });
  });

  it('a file is refused with aliases that would fill the memory', async () => {
    const levels = 'b c d e f g h i j'.split(' ').map((name, index) => {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      return `${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(', ')}] # ${index}`;
    });
    await lineOf(`a: &a ${SECRET}\n${levels.join('\n')}\n`);
  });

  it.each([
    ['that is not there', async (folder: string) => join(folder, 'missing.yaml')],
    ['that is a folder', async (folder: string) => mkdir(join(folder, 'folder')).then(() => join(folder, 'folder'))],
  ])('a providers file %s is refused', async (_, prepare) => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-providers-'));
    using log = new ServiceLog();
    try {
      expect(await failedStart(await prepare(folder), log)).toMatch(/^PROVIDERS_FILE: [^\n]+$/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
