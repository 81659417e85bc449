import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { McpServer, McpToolParam } from '../../src/tools/mcp/index.js';
import { ApiError } from '../../src/protocol/index.js';
import { type McpService, startMcp } from './mcp-service.js';

const FILE = {
  servers: {
    docs: { url: 'https://docs.example.com/mcp', description: 'Our documents.' },
    billing: {
      url: 'https://billing.example.com/mcp',
      authorization: 'billing-token',
      tenants: ['acme'],
      tools: ['read', 'write'],
      require_approval: { always: { tool_names: ['write'] }, never: { read_only: true } },
    },
    mail: { url: 'https://mail.example.com/mcp', headers: { 'x-app': 'antiphon' }, forward: ['Authorization'] },
    strict: { url: 'https://strict.example.com/mcp', require_approval: 'always' },
  },
  connectors: { connector_gmail: 'mail' },
};

const tool = (members: Partial<McpToolParam>): McpToolParam => ({ type: 'mcp', server_label: 'docs', ...members });

function refusal(service: McpService, members: Partial<McpToolParam>, tenant = 'acme'): Partial<ApiError> {
  try {
    service.servers.find(tool(members), tenant, 'tools[2]');
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('the server was found');
}

describe('servers of the operator', () => {
  let service: McpService;
  const find = (members: Partial<McpToolParam>, tenant = 'acme'): McpServer =>
    service.servers.find(tool(members), tenant, 'tools[0]');

  beforeAll(async () => {
    service = await startMcp(FILE);
  });

  afterAll(async () => {
    await service[Symbol.asyncDispose]();
  });

  it.each([
    ['its label alone', { server_label: 'docs' }],
    ['its label and URL', { server_label: 'docs', server_url: 'https://docs.example.com/mcp' }],
    ['its URL in another spelling', { server_label: 'd', server_url: 'https://DOCS.example.com:443/mcp' }],
    ['its connector', { server_label: 'm', connector_id: 'connector_gmail' }],
  ] as const)('servers of the operator are named by %s', (_name, members) => {
    expect(service.servers.runs(tool(members), 'acme')).toBe(true);
    expect(find(members).label).toBe(members.server_label);
  });

  it('servers of the operator say what they are, and can be described otherwise', () => {
    expect(find({}).description).toBe('Our documents.');
    expect(find({ server_description: 'Mine.' }).description).toBe('Mine.');
    expect(find({ server_label: 'strict' }).description).toBeNull();
  });

  it('servers of the operator are those of their tenants: for others they do not exist', () => {
    const members = { server_label: 'billing' } as const;
    expect(find(members).label).toBe('billing');
    expect(refusal(service, members, 'globex')).toEqual({
      status: 400,
      param: 'tools[2].server_url',
      message: "Missing required parameter: 'tools[2].server_url'. This server knows no MCP server 'billing'.",
    });
    const suggested = expect.objectContaining({ message: expect.stringContaining("Did you mean 'billing'?") });
    expect(refusal(service, { server_label: 'biling' }, 'acme')).toEqual(suggested);
    expect(refusal(service, { server_label: 'biling' }, 'globex')).not.toEqual(suggested);
    const byUrl = tool({ server_label: 'b', server_url: FILE.servers.billing.url });
    expect(service.servers.runs(byUrl, 'acme')).toBe(true);
    expect(service.servers.runs(byUrl, 'globex')).toBe(false);
  });

  it('servers of the operator leave other URLs, connectors and tunnels to the upstream', () => {
    const runs = (members: Partial<McpToolParam>): boolean => service.servers.runs(tool(members), 'acme');
    expect(runs({ server_url: 'https://elsewhere.example.com/mcp' })).toBe(false);
    expect(runs({ connector_id: 'connector_dropbox' })).toBe(false);
    expect(runs({ tunnel_id: 'tunnel_1' })).toBe(false);
    expect(runs({ server_label: 'unknown' })).toBe(true);
  });

  it('servers of the operator offer the tools of their list, and rule over approvals', () => {
    const billing = find({ server_label: 'billing' });
    expect(['read', 'write', 'drop'].filter((name) => billing.offers(name))).toEqual(['read', 'write']);
    const info = (name: string, readOnlyHint: boolean): Parameters<McpServer['approvalOf']>[0] => ({
      name,
      description: null,
      input_schema: {},
      annotations: { readOnlyHint },
    });
    expect(billing.approvalOf('write')).toBe('always');
    expect(billing.approvalOf(info('write', true))).toBe('always');
    expect(billing.approvalOf(info('read', true))).toBe('never');
    expect(billing.approvalOf(info('read', false))).toBeUndefined();
    // What is not known to be read-only is not.
    expect(billing.approvalOf('read')).toBeUndefined();
    expect(find({ server_label: 'strict' }).approvalOf('any')).toBe('always');
    expect(find({}).approvalOf('any')).toBeUndefined();
  });

  it('servers of the operator have an identity of their URL and label, without credentials', () => {
    const { identity } = find({});
    expect(find({ authorization: 'mine' }, 'globex').identity).toBe(identity);
    expect(find({ server_label: 'd', server_url: FILE.servers.docs.url }).identity).not.toBe(identity);
    expect(identity).toMatch(/^[\w-]{43}$/);
  });

  it('servers of the operator take the credentials of requests only where the operator has none, or says so', () => {
    expect(find({ authorization: 'mine', headers: { 'X-Mine': '1' } }).label).toBe('docs');
    expect(find({ server_label: 'mail', authorization: 'mine' }).label).toBe('mail');
    expect(refusal(service, { server_label: 'mail', headers: { 'X-App': 'other' } })).toEqual({
      status: 400,
      param: 'tools[2].headers',
      message: "The server 'mail' has credentials of its own: requests must not set 'x-app'.",
    });
    expect(refusal(service, { server_label: 'billing', authorization: 'mine' })).toMatchObject({
      param: 'tools[2].authorization',
    });
  });

  it.each([
    [{ headers: { 'bad name': 'x' } }, 'headers', 'has a name that is not valid'],
    [{ headers: { 'x-a': 'one\r\nx-b: two' } }, 'headers', "has a value of 'x-a' that is not valid"],
    [{ headers: { 'x-a': 1 as unknown as string } }, 'headers', "must have a string as 'x-a'"],
    [{ headers: { Host: 'other' } }, 'headers', "must not have 'host'"],
    [{ headers: { 'Mcp-Session-Id': '1' } }, 'headers', "must not have 'mcp-session-id'"],
    [{ authorization: 'two\nlines' }, 'authorization', 'must be a token'],
  ] as const)('the entries of servers refuse %j', (members, place, words) => {
    const { status, param, message } = refusal(service, members);
    expect({ status, param }).toEqual({ status: 400, param: `tools[2].${place}` });
    expect(message).toContain(words);
    expect(message).not.toMatch(/two/);
  });
});

describe('servers of clients', () => {
  it('servers of clients must have public addresses over https with MCP_CLIENT_URLS=public', async () => {
    await using service = await startMcp({}, { MCP_CLIENT_URLS: 'public' });
    const url = 'https://mcp.example.com/mcp';
    expect(service.servers.runs(tool({ server_url: url }), 'acme')).toBe(true);
    expect(service.servers.find(tool({ server_url: url }), 'acme', 'tools[0]').label).toBe('docs');
    for (const [refused, words] of [
      ['http://mcp.example.com/mcp', 'must begin with https://'],
      ['https://user:secret@mcp.example.com/', 'must not contain a user'],
      ['ftp://mcp.example.com/', 'must be an http or https URL'],
      ['nonsense', 'must be an http or https URL'],
      ...['127.0.0.1', '10.1.2.3', '169.254.169.254', '[::1]', '[::ffff:10.0.0.1]', 'localhost', 'a.localhost.'].map(
        (host) => [`https://${host}/`, 'must not lead to a private or reserved address'],
      ),
      ...['0x7f000001', '2130706433', '0177.0.0.1'].map((host) => [`https://${host}/`, 'must not lead to a private']),
    ] as const) {
      const { param, message } = refusal(service, { server_url: refused });
      expect(param).toBe('tools[2].server_url');
      expect(message).toContain(words);
      expect(message).not.toContain('secret');
    }
  });

  it('servers of clients may be anywhere with MCP_CLIENT_URLS=any, and the start says so', async () => {
    await using service = await startMcp({}, { MCP_CLIENT_URLS: 'any' });
    expect(service.log.complaints.join()).toContain('MCP_CLIENT_URLS=any');
    const found = service.servers.find(tool({ server_url: 'http://127.0.0.1:1/mcp' }), 'acme', 'tools[0]');
    expect(await found.call('x', {}, { signal: new AbortController().signal })).toMatchObject({
      error: { type: 'http_error', code: 502 },
    });
  });
});

describe('the file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-'));
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('the file of servers is refused with all its faults at once, and never quoted', async () => {
    const path = join(folder, 'servers.yaml');
    await writeFile(
      path,
      `
servers:
  docs: { url: "https://user:hunter22@docs.example.com" }
  mail: { authorization: hunter22 }
  wiki: { url: "https://wiki.example.com", transport: stdio, timeouts: { call_ms: 0 } }
`,
    );
    await expect(startMcp({}, { MCP_SERVERS: path })).rejects.toMatchObject({
      violations: [
        expect.stringContaining('servers.wiki.timeouts.call_ms must be >= 1'),
        expect.stringContaining('servers.docs.url must be an http or https URL without a user'),
        expect.stringContaining('servers.wiki.transport must be one of '),
        expect.stringContaining("servers.mail must have required property 'url'"),
      ],
    });
    await writeFile(
      path,
      `
servers:
  docs: { url: "https://docs.example.com", headers: { Host: hunter22, Authorization: hunter22 }, authorization: "a\\nb" }
  mail:
    url: https://mail.example.com
    oauth: { token_url: "http://login.example.com", client_id: a, client_secret: hunter22 }
connectors: { connector_gmail: post }
`,
    );
    const error: unknown = await startMcp({}, { MCP_SERVERS: path }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      violations: [
        "servers.docs.headers must not have 'host'",
        'servers.docs.authorization must be a token',
        'servers.docs.authorization must be given in one way: authorization, headers or oauth',
        'servers.mail.oauth.token_url must begin with https://',
        'connectors.connector_gmail must be the label of a server',
      ].map((fault) => `MCP_SERVERS: ${path}: ${fault}.`),
    });
    await writeFile(path, 'servers: { docs: { url: "https://d.example.com", authorization: "${NO_SUCH_TOKEN}" } }');
    await expect(startMcp({}, { MCP_SERVERS: path })).rejects.toThrow(
      'servers.docs.authorization refers to NO_SUCH_TOKEN, which is not set',
    );
    await writeFile(path, 'servers: { docs: [');
    await expect(startMcp({}, { MCP_SERVERS: path })).rejects.toThrow(/neither YAML nor JSON, at line 1, column \d+/);
  });
});
