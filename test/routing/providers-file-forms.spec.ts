import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import type { UpstreamRequest } from '../support/upstream-server.js';
import { useProvidersFile, withFile } from '../support/providers-file.js';
import { type Service, startService } from '../support/service.js';
import { JSON_TRANSPORT } from '../support/transports.js';

const VARIABLES = {
  ROUTING_TEST_HOST: '',
  ROUTING_TEST_KEY: 'key "of" {all} $keys',
  ROUTING_TEST_MODEL: 'a-model',
  ROUTING_TEST_REFERENCE: '${ROUTING_TEST_KEY}',
};

const MODELS_AND_NOTHING_ELSE = `models:
  - { name: only, provider: simulator, model: gpt-4.1 }
`;

let upstream: ChatUpstream;

beforeAll(async () => {
  upstream = await ChatUpstream.start();
  Object.assign(process.env, VARIABLES, { ROUTING_TEST_HOST: `127.0.0.1:${upstream.port}` });
});

afterAll(async () => {
  for (const name of Object.keys(VARIABLES)) Reflect.deleteProperty(process.env, name);
  await upstream.close();
});

const json = useProvidersFile('providers.json');
const yaml = useProvidersFile('providers.yaml');

/** What the upstream is asked by a turn of a service with this file: one that starts with it, if it is about the name. */
async function requestWith(content: string | object, model = 'm', name?: string): Promise<UpstreamRequest> {
  const before = upstream.requests.length;
  const ask = async (service: Service): Promise<void> => {
    const { response } = await JSON_TRANSPORT.run(service, { model, input: 'Hi' });
    expect(response).toMatchObject({ status: 'completed', model });
  };
  if (name === undefined) {
    const { service, load } = typeof content === 'string' ? yaml : json;
    await load(content);
    await ask(service);
  } else {
    await withFile({ content, name }, async (path) => {
      await using service = await startService({ environment: { PROVIDERS_FILE: path } });
      await ask(service);
    });
  }
  const requests = upstream.requests.slice(before);
  expect(requests).toHaveLength(1);
  return requests[0] as UpstreamRequest;
}

/** A file whose provider has these members, and to which every name goes. */
const file = (members: object, model: object = {}): object => ({
  providers: { gpu: { base_url: upstream.baseUrl, ...members } },
  models: [{ default: true, provider: 'gpu', ...model }],
});

describe('a providers file', () => {
  it('a providers file may be YAML', async () => {
    const request = await requestWith(`
# A comment.
providers:
  gpu: &gpu
    base_url: ${upstream.baseUrl}
    headers:
      x-text: >-
        two lines
        become one
  other: *gpu
models:
  - name: m
    provider: gpu
    model: n
`);
    expect(request).toMatchObject({ headers: { 'x-text': 'two lines become one' }, body: { model: 'n' } });
  });

  it('a providers file may be JSON', async () => {
    const text = JSON.stringify(file({ headers: { 'x-text': 'A \u00e9' } }));
    expect(await requestWith(text, 'm', 'providers.json')).toMatchObject({ headers: { 'x-text': 'A \u00e9' } });
  });

  it.each(['providers.conf', 'providers', 'providers.yml', 'providers.JSON'])(
    'a providers file may be JSON under the name %s: that is YAML as well',
    async (name) => {
      expect(await requestWith(JSON.stringify(file({}), null, 2), 'm', name)).toMatchObject({ body: { model: 'm' } });
    },
  );

  it('a providers file may begin with a byte order mark', async () => {
    for (const name of ['providers.json', 'providers.yaml']) {
      await requestWith(`\uFEFF${JSON.stringify(file({}), null, 2)}`, 'm', name);
    }
  });

  it.each([
    ['empty', ''],
    ['nothing but comments', '# providers: {}\n'],
    ['null', 'null'],
    ['an empty record', '{}'],
    ['without entries', 'providers: {}\nmodels: []\n'],
  ])('a providers file may be %s: then nothing is served', async (_, content) => {
    await withFile({ content }, async (path) => {
      await using service = await startService({ environment: { PROVIDERS_FILE: path } });
      const list = await fetch(`${service.baseURL}/models`);
      expect(await list.json()).toEqual({ object: 'list', data: [], models: [] });
      await expect(JSON_TRANSPORT.run(service, { model: 'gpt-4.1', input: 'Hi' })).rejects.toMatchObject({
        status: 404,
        body: { error: { code: 'model_not_found' } },
      });
    });
  });

  it('a providers file needs no providers where names go to those of the program', async () => {
    await withFile({ content: MODELS_AND_NOTHING_ELSE }, async (path) => {
      await using service = await startService({ environment: { PROVIDERS_FILE: path } });
      const { response } = await JSON_TRANSPORT.run(service, { model: 'only', input: 'Hi' });
      expect(response).toMatchObject({ status: 'completed', model: 'only' });
    });
  });

  it('a providers file refers to the environment in every text', async () => {
    const request = await requestWith({
      providers: {
        gpu: {
          base_url: 'http://${ROUTING_TEST_HOST}/v1',
          api_key: '${ROUTING_TEST_KEY}',
          headers: { 'x-both': '${ROUTING_TEST_MODEL}-${ROUTING_TEST_MODEL}' },
          query: { q: 'a&b=${ROUTING_TEST_KEY}' },
        },
      },
      models: [{ name: 'm', provider: 'gpu', model: '${ROUTING_TEST_MODEL}' }],
    });
    expect(request).toMatchObject({
      headers: { authorization: `Bearer ${VARIABLES.ROUTING_TEST_KEY}`, 'x-both': 'a-model-a-model' },
      body: { model: 'a-model' },
    });
    const { searchParams } = new URL(request.url, 'http://upstream');
    expect([...searchParams]).toEqual([['q', `a&b=${VARIABLES.ROUTING_TEST_KEY}`]]);
  });

  it('a providers file may refer in YAML without quotes', async () => {
    const request = await requestWith(`
providers:
  gpu:
    base_url: http://\${ROUTING_TEST_HOST}/v1
    api_key: \${ROUTING_TEST_KEY}
models:
  - default: true
    provider: gpu
    model: \${ROUTING_TEST_MODEL}
`);
    expect(request).toMatchObject({
      headers: { authorization: `Bearer ${VARIABLES.ROUTING_TEST_KEY}` },
      body: { model: 'a-model' },
    });
  });

  it.each([
    ['$$', '$'],
    ['$$$$', '$$'],
    ['$${ROUTING_TEST_KEY}', '${ROUTING_TEST_KEY}'],
    ['$$${ROUTING_TEST_MODEL}', '$a-model'],
    ['$', '$'],
    ['$5 and 5$', '$5 and 5$'],
    ['$ROUTING_TEST_MODEL', '$ROUTING_TEST_MODEL'],
    // What a variable holds is not read again.
    ['${ROUTING_TEST_REFERENCE}', '${ROUTING_TEST_KEY}'],
  ])('a providers file reads %s as %s', async (text, expected) => {
    expect(await requestWith(file({}, { model: text }))).toMatchObject({ body: { model: expected } });
  });

  it('a providers file takes variables in values only, not in names', async () => {
    const content = file({ query: { '${ROUTING_TEST_MODEL}': 'x' } });
    const { url } = await requestWith(content);
    expect([...new URL(url, 'http://upstream').searchParams.keys()]).toEqual(['${ROUTING_TEST_MODEL}']);
  });

  it.each([
    ['/', '/v1/chat/completions'],
    ['///', '/v1/chat/completions'],
    ['/nested/path', '/v1/nested/path/chat/completions'],
    ['?key=1', '/v1/chat/completions?key=1'],
    ['/?key=1', '/v1/chat/completions?key=1'],
  ])('a providers file may end an address with %s', async (end, expected) => {
    expect((await requestWith(file({ base_url: `${upstream.baseUrl}${end}` }))).url).toBe(expected);
  });

  it('a providers file may have an address without a path', async () => {
    const request = await requestWith(file({ base_url: `http://127.0.0.1:${upstream.port}` }));
    expect(request.url).toBe('/chat/completions');
  });

  it('a providers file keeps the query of the address beside that of the provider', async () => {
    const content = file({ base_url: `${upstream.baseUrl}?a=1`, query: { b: '2 3', a: '4' } });
    const { searchParams } = new URL((await requestWith(content)).url, 'http://upstream');
    expect([...searchParams]).toEqual([
      ['a', '1'],
      ['b', '2 3'],
      ['a', '4'],
    ]);
  });

  it('a providers file sends headers whatever their case, and a key only where there is one', async () => {
    const { headers } = await requestWith(file({ headers: { 'X-Team': 'agents', Authorization: 'Basic abc' } }));
    expect(headers).toMatchObject({ 'x-team': 'agents', authorization: 'Basic abc' });
    expect((await requestWith(file({}))).headers).not.toHaveProperty('authorization');
  });

  it('a providers file may name providers like members of every object', async () => {
    const content = {
      providers: { constructor: { base_url: upstream.baseUrl, headers: { constructor: 'x' } } },
      models: [{ name: 'constructor', provider: 'constructor', model: '__proto__' }],
    };
    const request = await requestWith(content, 'constructor');
    expect(request).toMatchObject({ body: { model: '__proto__' }, headers: { constructor: 'x' } });
  });

  it.each(['0', 'a', '9-_', 'a'.repeat(200)])('a providers file may name a provider %s', async (name) => {
    const content = { providers: { [name]: { base_url: upstream.baseUrl } }, models: [{ name: 'm', provider: name }] };
    await requestWith(content);
  });
});
