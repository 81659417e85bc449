// Slow: runs the built program as processes.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { FakeMcpServer } from '../../src/testing/index.js';
import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { freePort } from '../support/ports.js';
import { createEmptyDatabase, createTestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ProcessVariables, runToEnd } from '../support/process-service.js';

const OK = 'ok      the variables are valid';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antiphon-check-'));
});

afterEach(async () => {
  await endProcesses();
  await rm(folder, { recursive: true });
});

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** The lines that `antiphon check` writes, without the folder of the test, and its exit code. */
async function check(variables: ProcessVariables, ...files: readonly string[]): Promise<object> {
  const { code, stdout, stderr } = await runToEnd(variables, 'main.js', ['check', ...files]);
  expect(stderr).toBe('');
  return { code, lines: stdout.replaceAll(`${folder}/`, '').trimEnd().split('\n') };
}

describe('antiphon check', () => {
  it('antiphon check asks upstreams once, reads all files, and starts nothing', async () => {
    const upstream = (await ChatUpstream.start()).list([{ id: 'm' }]);
    const closed = await freePort();
    const providers = `
providers:
  up: { base_url: '${upstream.baseUrl}' }
  down: { base_url: 'http://127.0.0.1:${closed}/v1', api_key: '\${UPSTREAM_KEY}' }
`;
    const variables = {
      PROVIDERS_FILE: await write('providers.yaml', providers),
      UPSTREAM_KEY: 'secret-0123456789',
      LIMITS_FILE: await write('limits.yaml', 'limits: []'),
      KEYS_FILE: await write('keys.yaml', 'keys: ['),
      API_KEY: 'tenant:secret-key',
      SIMULATOR_SCRIPTS: await write('script.yaml', 'turns:\n  - text: 3\n    finish: 4\n'),
    };
    expect(await check(variables)).toEqual({
      code: 1,
      lines: [
        OK,
        'warning API_KEY has no effect: there is no such variable. Did you mean API_KEYS?',
        expect.stringMatching(/^fault {3}KEYS_FILE: keys\.yaml: the file is neither YAML nor JSON, at line 1, .*\.$/),
        'ok      LIMITS_FILE: limits.yaml',
        'fault   SIMULATOR_SCRIPTS: script.yaml:2: turns[0].text must be a string or an array, but is an integer',
        expect.stringMatching(/^fault {3}SIMULATOR_SCRIPTS: script\.yaml:3: turns\[0\]\.finish must /),
        'ok      PROVIDERS_FILE: providers.yaml',
        "ok      upstream 'up': answers, 1 models",
        "fault   upstream 'down': does not list its models: ECONNREFUSED",
        expect.stringMatching(/^warning EMBEDDING_MODEL: no provider makes vectors with 'text-embedding-3-small'/),
        'ok      STATE: memory',
        '4 faults.',
      ],
    });
    await upstream.close();
  });

  it('antiphon check warns of models that their upstream does not list, and names the nearest', async () => {
    const listed = ['qwen3-32b', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id }));
    const upstream = (await ChatUpstream.start()).list(listed);
    const providers = `
providers:
  up: { base_url: '${upstream.baseUrl}' }
models:
  - { name: qwen, provider: up, model: qwen3-23b }
  - { name: llama, provider: up }
  - { name: fine, provider: up, model: qwen3-32b }
  - { prefix: up/, provider: up, strip: true }
`;
    const found = await check({ PROVIDERS_FILE: await write('providers.yaml', providers) });
    expect(found).toMatchObject({
      code: 0,
      lines: [
        OK,
        'ok      PROVIDERS_FILE: providers.yaml',
        "ok      upstream 'up': answers, 6 models",
        "warning model 'qwen': upstream 'up' does not list 'qwen3-23b'. Did you mean 'qwen3-32b'?",
        "warning model 'llama': upstream 'up' does not list 'llama'. It lists 'qwen3-32b', 'b', 'c', 'd', 'e' …",
        expect.stringMatching(/^warning EMBEDDING_MODEL/),
        'ok      STATE: memory',
        'No faults.',
      ],
    });
    await upstream.close();
  });

  it('antiphon check asks MCP servers once for their tools', async () => {
    await using fake = await FakeMcpServer.start([{ name: 'a' }, { name: 'b' }]);
    const servers = `
servers:
  docs: { url: '${fake.url}', authorization: '\${DOCS_TOKEN}', tools: [a] }
  down: { url: 'http://127.0.0.1:${await freePort()}/mcp' }
`;
    const variables = { MCP_SERVERS: await write('servers.yaml', servers), DOCS_TOKEN: 'secret-0123456789' };
    expect(await check(variables)).toEqual({
      code: 1,
      lines: [
        OK,
        'ok      MCP_SERVERS: servers.yaml',
        "ok      MCP server 'docs': answers, 1 tools",
        "fault   MCP server 'down': does not list its tools: The server could not be reached: ECONNREFUSED",
        'ok      STATE: memory',
        '1 fault.',
      ],
    });
    expect(fake.count('tools/list')).toBe(1);
    expect(fake.requests.at(-1)?.headers.authorization).toBe('Bearer secret-0123456789');
    expect(fake.openSessions).toBe(0);
  });

  it('antiphon check names tools of the rules for an MCP server that it does not have', async () => {
    await using fake = await FakeMcpServer.start([{ name: 'search' }, { name: 'delete_page' }]);
    const servers = `
servers:
  docs:
    url: '${fake.url}'
    tools: [search, find]
    require_approval: { always: { tool_names: [delete_pages] }, never: { tool_names: [search] } }
`;
    expect(await check({ MCP_SERVERS: await write('servers.yaml', servers) })).toEqual({
      code: 0,
      lines: [
        OK,
        'ok      MCP_SERVERS: servers.yaml',
        "ok      MCP server 'docs': answers, 1 tools",
        "warning MCP server 'docs': does not list 'find'. It lists 'search', 'delete_page'",
        "warning MCP server 'docs': does not list 'delete_pages'. Did you mean 'delete_page'?",
        'ok      STATE: memory',
        'No faults.',
      ],
    });
  });

  it('antiphon check names all variables that are not valid', async () => {
    expect(await check({ PORT: 'eighty', LOG_LEVEL: 'loud' })).toEqual({
      code: 1,
      lines: [
        expect.stringMatching(/^fault {3}PORT: expected a whole number/),
        expect.stringMatching(/^fault {3}LOG_LEVEL: expected one of/),
        '2 faults.',
      ],
    });
  });

  it('antiphon check says that the place of the state is a file', async () => {
    await writeFile(join(folder, 'data'), '');
    expect(await check({ STATE: 'sqlite', STATE_DIR: join(folder, 'data') })).toEqual({
      code: 1,
      lines: [
        OK,
        'fault   STATE_DIR: data is not a directory',
        expect.stringMatching(/^ok {6}vectors are compared by /),
        '1 fault.',
      ],
    });
  });

  it('antiphon check says that a database is not there', async () => {
    const closed = await freePort();
    expect(await check({ STATE: 'postgres', DATABASE_URL: `postgres://a:secret@127.0.0.1:${closed}/a` })).toEqual({
      code: 1,
      lines: [OK, `fault   DATABASE_URL: connect ECONNREFUSED 127.0.0.1:${closed}`, '1 fault.'],
    });
  });

  it('antiphon check counts migrations without applying any', async () => {
    await using database = await createEmptyDatabase();
    const variables = { STATE: 'postgres', DATABASE_URL: database.url };
    const found = expect.stringMatching(
      /^warning STATE: postgres is reached, and lacks \d+ migrations .*: the next start applies them$/,
    );
    for (const _ of [1, 2]) expect(await check(variables)).toMatchObject({ code: 0, lines: [OK, found, 'No faults.'] });
    expect(await check({ ...variables, DATABASE_MIGRATE: 'false' })).toMatchObject({ code: 1 });
    await using migrated = await createTestDatabase();
    expect(await check({ ...variables, DATABASE_URL: migrated.url })).toEqual({
      code: 0,
      lines: [OK, 'ok      STATE: postgres is reached, and its schema is up to date', 'No faults.'],
    });
  });
});

describe('antiphon check of scripts', () => {
  it('antiphon check names every fault with its line', async () => {
    const script = `model: weather
turns:
  - when: rain
    txt: It rains.
  - text: 3
`;
    const recording = '{"settings":{"model":"m"}}\n{"text":"Hi"}\n{"txt":"Hi"}\n{"text":\n';
    const paths = [await write('weather.yaml', script), await write('session.jsonl', recording)];
    expect(await check({}, ...paths)).toEqual({
      code: 1,
      lines: [
        "fault   weather.yaml:4: turns[0] has the unknown member 'txt' (did you mean 'text'?)",
        'fault   weather.yaml:5: turns[1].text must be a string or an array, but is an integer',
        "fault   session.jsonl:3: has the unknown member 'txt' (did you mean 'text'?)",
        expect.stringMatching(/^fault {3}session\.jsonl:4: is not JSON: /),
        '4 faults.',
      ],
    });
  });

  it('antiphon check has exit code 0 when there are no scripts', async () => {
    const path = await write('weather.json', '{"turns":[{"text":"It rains."}]}');
    expect(await check({}, path)).toEqual({ code: 0, lines: ['ok      weather.json', 'No faults.'] });
  });
});
