import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it } from '@jest/globals';

import { createApp } from '../../src/index.js';
import { RESERVED_MEMBERS } from '../../src/providers/responses/request/member-names.js';
import { faultOfFile, useFailingReload, withFile } from '../support/providers-file.js';

const SECRET = 'tz-top-secret-0123456789';

const entry = { kind: 'responses', base_url: 'http://127.0.0.1:9/v1', api_key: SECRET, headers: { 'x-key': SECRET } };

describe('an entry of the kind responses that cannot be', () => {
  const reload = useFailingReload('providers.json');
  const lineOf = async (members: object): Promise<string> => {
    const { message, logged } = await reload({ providers: { up: { ...entry, ...members } } });
    expect(message).toMatch(/^PROVIDERS_FILE: [^\n]+$/);
    expect(message + logged).not.toContain(SECRET);
    return message;
  };

  it.each<readonly [what: string, members: object, place: string]>([
    ['without an address', { base_url: undefined }, "providers.up must have required property 'base_url'"],
    [
      'with another address',
      { base_url: `ftp://${SECRET}` },
      'providers.up.base_url must be an http or https URL, or fixture:',
    ],
    ['with a fixture that is none', { base_url: 'fixture:' }, 'providers.up.base_url'],
    ['with a key on two lines', { api_key: `${SECRET}\nx` }, 'providers.up.api_key'],
    ['with a header of HTTP itself', { headers: { 'content-length': '5' } }, 'providers.up.headers'],
    ['with a dialect', { dialect: 'openai' }, 'providers.up'],
    ['with another profile', { profile: SECRET }, 'providers.up.profile'],
    ['that supports WebSockets perhaps', { supports_websockets: SECRET }, 'providers.up.supports_websockets'],
    ['with too many requests', { request_max_retries: 101 }, 'providers.up.request_max_retries'],
    ['with fewer than no retries', { stream_max_retries: -1 }, 'providers.up.stream_max_retries'],
    ['without patience', { stream_idle_timeout_ms: 0 }, 'providers.up.stream_idle_timeout_ms'],
    ['without a budget', { retry_budget_ms: 0 }, 'providers.up.retry_budget_ms'],
    ['that never connects', { websocket_connect_timeout_ms: 0 }, 'providers.up.websocket_connect_timeout_ms'],
    ['without sockets', { websocket_connections: 0 }, 'providers.up.websocket_connections'],
    ['with a socket of an hour', { websocket_max_age_ms: 3_600_000 }, 'providers.up.websocket_max_age_ms'],
    ['that heals in the past', { websocket_heal_after_ms: -1 }, 'providers.up.websocket_heal_after_ms'],
    ['with a feature that nobody knows', { features: { [SECRET]: true } }, 'providers.up.features'],
    [
      'with a feature in words',
      { features: { responses_websockets: SECRET } },
      'providers.up.features.responses_websockets',
    ],
    ['that passes another thing', { passthrough: SECRET }, 'providers.up.passthrough'],
    ['with two idle timeouts', { timeouts: { idle_ms: 5 } }, 'providers.up.timeouts'],
    ['that omits the input', { omit: ['user', 'input'] }, 'providers.up.omit[1]'],
  ])('an entry of the kind responses %s is refused', async (_, members, place) => {
    expect(await lineOf(members)).toContain(place);
  });

  it.each([
    ['headers: { content-length }', { headers: { 'content-length': '5' } }, 'headers'],
    ['an empty header', { headers: { 'x-a': '', 'content-length': '5' } }, 'headers'],
    ['omit: [model]', { omit: ['model'] }, 'omit[0]'],
  ])('an entry of the kind responses is refused without a key, with %s', async (_, members, place) => {
    for (const kind of ['responses', 'chat-completions']) {
      const { message } = await faultOfFile({
        content: { providers: { up: { kind, base_url: entry.base_url, ...members } } },
      });
      expect(message).toContain(`providers.up.${place}`);
    }
  });

  it('an entry of the kind responses is refused with a fixture that is not there', async () => {
    const line = await lineOf({ base_url: 'fixture:/nowhere/secret-name.sse' });
    expect(line).toContain('providers.up: the fixture of base_url cannot be read');
    expect(line).not.toContain('secret-name');
  });

  it.each([...RESERVED_MEMBERS].filter((_, index) => index % 8 === 0))(
    'an entry of the kind responses is refused that forwards %s',
    async (name) => {
      expect(await lineOf({ forward: ['top_k', name] })).toContain(
        `providers.up.forward[1] is a reserved name (${name})`,
      );
    },
  );
});

describe('an entry of the kind responses', () => {
  /** What the server of an entry was asked for until the service had listed its models, and the list. */
  const listWith = async (environment: object): Promise<{ requests: readonly unknown[]; models: unknown }> => {
    const requests: unknown[] = [];
    const server = createServer(({ url, headers: { authorization } }, response) => {
      requests.push({ url, authorization });
      response.end(JSON.stringify({ object: 'list', data: [], models: [{ slug: 'gpt-5-codex' }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const content = { providers: { up: { ...entry, base_url, query: { client_version: '1' } } } };
    try {
      return await withFile({ content }, async (path) => {
        const app = await createApp({ environment: { PROVIDERS_FILE: path, LOG_LEVEL: 'fatal', ...environment } });
        try {
          await app.listen(0, '127.0.0.1');
          const list = await fetch(`${await app.getUrl()}/v1/models`);
          return { requests, models: await list.json() };
        } finally {
          await app.close();
        }
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  };

  it('an entry of the kind responses serves the models of its server, with its key and query', async () => {
    const { requests, models } = await listWith({});
    expect(models).toMatchObject({ data: [{ id: 'gpt-5-codex', owned_by: 'up' }] });
    expect(requests[0]).toEqual({ url: '/v1/models?client_version=1', authorization: `Bearer ${SECRET}` });
  });

  it('an entry of the kind responses asks no server when CODEX_RS_SSE_FIXTURE answers in its place', async () => {
    const { requests, models } = await listWith({ CODEX_RS_SSE_FIXTURE: 'package.json' });
    expect(models).toMatchObject({ data: [] });
    expect(requests).toEqual([]);
  });
});
