import { beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope } from '@nestjs/common';
import { z } from 'zod';

import {
  IdGenerator,
  ServerTool,
  type ServerToolContext,
  ServerToolError,
  type ServerToolResult,
} from '../../src/index.js';
import type { McpServer } from '../../src/tools/mcp/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { BACKGROUND_TRANSPORT } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { call } from '../support/scripted-calls.js';
import { itemsOf, typesOf } from '../support/output.js';
import { startService } from '../support/service.js';
import { TRANSPORTS } from '../support/transports.js';
import { type McpService, startMcp } from './mcp-service.js';

const CITY = z.object({ city: z.string().describe('Its name.'), unit: z.enum(['C', 'F']).default('C') });

/** The number of an order, which clients in production name by more than letters. */
const ORDER = {
  type: 'object',
  properties: { sku: { type: 'string', format: 'uuid' } },
  required: ['sku'],
  additionalProperties: false,
} as const;

/** What the handlers were called with, the newest last. */
const seen: { readonly input: unknown; readonly tenant: string; readonly responseId: string | null }[] = [];
let held: PromiseWithResolvers<ServerToolContext> = Promise.withResolvers();

@Injectable()
class Tools {
  constructor(private readonly ids: IdGenerator) {}

  @ServerTool({
    name: 'weather',
    description: 'The weather of a city.',
    input: CITY,
    annotations: { readOnlyHint: true },
  })
  async weather({ city, unit }: z.infer<typeof CITY>, context: ServerToolContext): Promise<string> {
    seen.push({ input: { city, unit }, tenant: context.tenant, responseId: context.responseId });
    // What a provider injects is there: the method is bound to it.
    return `${city}: 20 ${unit}${this.ids.next('x') === '' ? '?' : ''}`;
  }

  @ServerTool({ name: 'order', description: 'Orders an article.', input: ORDER, requireApproval: true })
  order({ sku }: { sku: string }, { tenant, responseId }: ServerToolContext): string {
    seen.push({ input: sku, tenant, responseId });
    return 'Ordered.';
  }

  @ServerTool({ name: 'refuse', description: 'Refuses.', input: { type: 'object' } })
  refuse(): never {
    throw new ServerToolError('Closed on Sundays.');
  }

  @ServerTool({ name: 'crash', description: 'Crashes.', input: { type: 'object' } })
  async crash(): Promise<never> {
    throw new Error('password=hunter2');
  }

  @ServerTool({ name: 'draw', description: 'Draws.', input: { type: 'object' }, server: 'studio' })
  draw({ mood }: { mood?: string }): ServerToolResult {
    const content = [
      { type: 'text', text: 'A cat.' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    ];
    return mood === 'bad' ? { content, isError: true } : { content };
  }

  @ServerTool({ name: 'wait', description: 'Waits.', input: { type: 'object' }, server: 'studio', timeoutMs: 1000 })
  wait(_input: object, context: ServerToolContext): Promise<string> {
    held.resolve(context);
    return new Promise(() => undefined);
  }
}

@Module({ providers: [Tools] })
class ToolsModule {}

const ID = '4c0b7b0e-6a3e-4f0c-9d55-2f1f5f7c1a11';
const OWN = { type: 'mcp', server_label: 'tools', require_approval: 'never' } as const;

beforeEach(() => {
  seen.length = 0;
  held = Promise.withResolvers();
});

describe('in a service', () => {
  const service = useService({
    providers: [ScriptedProvider],
    imports: [ToolsModule],
    injectedTools: [{ server: 'studio', models: ['artist-*'] }],
  });

  beforeEach(() => void (service.provider.turns.length = 0));

  describe.each([...TRANSPORTS, BACKGROUND_TRANSPORT])('a tool of the program, over $name', (transport) => {
    it('a tool of the program is listed, called with what its schema reads, and its result given to the model', async () => {
      service.provider
        .reply(...call('tools__weather', { city: 'Bonn', more: 1 }))
        .reply({ type: 'text', delta: 'Warm.' });
      const { response, events } = await transport.run(service, { model: 'm', input: 'Well?', tools: [OWN] });
      expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
      const [list] = itemsOf(response, 'mcp_list_tools');
      expect(list?.['tools']).toMatchObject([
        { name: 'weather' },
        { name: 'order' },
        { name: 'refuse' },
        { name: 'crash' },
      ]);
      expect((list?.['tools'] as readonly unknown[])[0]).toEqual({
        name: 'weather',
        description: 'The weather of a city.',
        input_schema: {
          type: 'object',
          properties: {
            city: { type: 'string', description: 'Its name.' },
            unit: { type: 'string', enum: ['C', 'F'], default: 'C' },
          },
          required: ['city'],
        },
        annotations: { readOnlyHint: true },
      });
      expect(itemsOf(response, 'mcp_call')).toMatchObject([
        { server_label: 'tools', name: 'weather', output: 'Bonn: 20 C', error: null, status: 'completed' },
      ]);
      expect(seen).toEqual([{ input: { city: 'Bonn', unit: 'C' }, tenant: 'anybody', responseId: response.id }]);
      expect(service.provider.turns[1]?.context.at(-1)).toMatchObject({
        type: 'function_call_output',
        output: 'Bonn: 20 C',
      });
      if (events !== undefined) checkEventOrder(events, { transport: transport.name === 'ws' ? 'ws' : 'sse' });
    });

    it('a tool of the program waits for the approval that it demands, though the request demands none, and runs once', async () => {
      service.provider.reply(...call('tools__order', { sku: ID }));
      const { response } = await transport.run(service, { model: 'm', input: 'Buy.', tools: [OWN] });
      const [request] = itemsOf(response, 'mcp_approval_request');
      expect(request).toMatchObject({ server_label: 'tools', name: 'order' });
      expect(seen).toEqual([]);
      const answer = { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true };
      const next = { model: 'm', input: [answer], tools: [OWN], previous_response_id: response.id };
      const { response: second } = await transport.run(service, next);
      expect(itemsOf(second, 'mcp_call')).toMatchObject([{ name: 'order', output: 'Ordered.' }]);
      await transport.run(service, next).catch(() => undefined);
      expect(seen).toHaveLength(1);
    });

    it('a tool of the program is not called with arguments that do not match, and tells no client what it threw', async () => {
      service.provider.reply(...call('tools__weather', { city: 7 }), ...call('tools__refuse'), ...call('tools__crash'));
      const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools: [OWN] });
      expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'mcp_call', 'mcp_call', 'message']);
      const texts = itemsOf(response, 'mcp_call').map(({ name, error }) => [name, JSON.stringify(error)]);
      expect(Object.fromEntries(texts)).toEqual({
        weather: expect.stringContaining('Invalid arguments: city: '),
        refuse: expect.stringContaining('Closed on Sundays.'),
        crash: expect.stringContaining('The tool has failed.'),
      });
      expect(JSON.stringify(response)).not.toMatch(/hunter2|server-tools/);
      expect(seen).toEqual([]);
    });
  });

  it('tools of the program are given to the turns of a model, though their requests do not name them', async () => {
    service.provider.reply(...call('studio__draw')).reply({ type: 'text', delta: 'Done.' });
    const own = { type: 'function', name: 'ask', parameters: {}, strict: false } as const;
    const response = await service.client().responses.create({ model: 'artist-1', input: 'A cat.', tools: [own] });
    expect(response.tools).toMatchObject([{ name: 'ask' }]);
    expect(response.output).toMatchObject([
      { type: 'mcp_list_tools', server_label: 'studio' },
      { type: 'mcp_call', output: 'A cat.\n{"type":"image","data":"aGk=","mimeType":"image/png"}' },
      { type: 'message' },
    ]);
    const [turn] = service.provider.turns;
    expect(turn?.settings.tools).toMatchObject([{ name: 'ask' }, { name: 'studio__draw' }, { name: 'studio__wait' }]);
    const other = await service.client().responses.create({ model: 'clerk', input: 'A cat.' });
    expect(other.output).toMatchObject([{ type: 'message' }]);
    expect(service.provider.turns.at(-1)?.settings.tools).toEqual([]);
  });

  it('tools of the program are given as a request names them, where it does', async () => {
    const tools = [{ type: 'mcp', server_label: 'studio', allowed_tools: ['draw'] }] as const;
    await service.client().responses.create({ model: 'artist-1', input: 'A cat.', tools: tools as never });
    expect(service.provider.turns[0]?.settings.tools).toMatchObject([{ name: 'studio__draw' }]);
  });

  it('tools of the program learn that their turn was stopped', async () => {
    service.provider.reply(...call('studio__wait'));
    const stop = new AbortController();
    const asked = service.client().responses.create({ model: 'artist-1', input: 'Wait.' }, { signal: stop.signal });
    const refused = expect(asked).rejects.toThrow('aborted');
    const { signal } = await held.promise;
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    stop.abort();
    await aborted;
    await refused;
  });

  it.each([{ headers: { 'x-key': '1' } }, { authorization: 'token' }])(
    'tools of the program take no credentials: %j',
    async (own) => {
      const body = { model: 'm', input: 'Go.', tools: [{ ...OWN, ...own }] };
      const refused = service.client().responses.create(body as never);
      await expect(refused).rejects.toMatchObject({ status: 400, param: `tools[0].${Object.keys(own)[0]}` });
    },
  );
});

describe('tools of the program alone', () => {
  const start = (providers: Parameters<typeof startMcp>[2], servers: object = {}): Promise<McpService> =>
    startMcp({ servers }, {}, providers);

  @Injectable()
  class Studio extends Tools {
    constructor() {
      super({ next: () => 'x' });
    }
  }

  const find = ({ servers }: McpService, label = 'tools'): McpServer =>
    servers.find({ type: 'mcp', server_label: label }, 'acme', 'tools[0]');

  const calm = new AbortController().signal;

  it('tools of the program are measured, and logged once without their arguments', async () => {
    await using mcp = await start([Studio]);
    const server = find(mcp);
    await server.list(calm);
    await server.call('weather', { city: 'Bonn' }, { signal: calm });
    await server.call('order', { sku: 'not-a-number' }, { signal: calm });
    await server.call('crash', {}, { signal: calm });
    expect(mcp.records).toMatchObject([
      { server: 'tools', kind: 'list', tool: null, outcome: 'ok' },
      { kind: 'call', tool: 'weather', outcome: 'ok' },
      { kind: 'call', tool: 'order', outcome: 'tool_error' },
      { kind: 'call', tool: 'crash', outcome: 'tool_error' },
    ]);
    expect(mcp.log.complaints).toEqual([
      expect.stringMatching(/"?tools"?: the call of "?crash"? threw an error[^]*\n +at /),
    ]);
    expect(mcp.log.notes).toHaveLength(1);
    expect(mcp.log.notes[0]).not.toContain('not-a-number');
  });

  it('tools of the program end in their time, which begins anew with every progress', async () => {
    await using mcp = await start([Studio]);
    const { pending } = mcp.clock;
    const told: unknown[] = [];
    const options = { signal: calm, onProgress: (progress: object) => void told.push(progress) };
    const called = find(mcp, 'studio').call('wait', {}, options);
    const context = await held.promise;
    mcp.clock.advance(999);
    context.progress({ progress: 1, total: 2 });
    mcp.clock.advance(999);
    expect(context.signal.aborted).toBe(false);
    mcp.clock.advance(1);
    expect(await called).toMatchObject({ error: { message: 'The tool did not answer within 1000 ms.' } });
    expect(context.signal.aborted).toBe(true);
    expect(told).toEqual([{ progress: 1, total: 2 }]);
    expect(mcp.clock.pending).toBe(pending);
  });

  it('tools of the program are found anew by a program that was started again: it may have others', async () => {
    await using mcp = await start([Studio]);
    const now = mcp.clock.now();
    expect([now - 1, now].map((at) => find(mcp).isStale(at))).toEqual([true, false]);
  });

  const marked = (input: object, name = 'a'): new () => object => {
    @Injectable()
    class Marked {
      @ServerTool({ name, description: 'A.', input: input as Record<string, unknown> })
      run(): string {
        return '';
      }
    }
    return Marked;
  };

  @Injectable({ scope: Scope.REQUEST })
  class Scoped extends Studio {}

  it.each([
    ['a scope', [Scoped], 'must be a singleton'],
    ['a name twice', [marked({ type: 'object' }), marked({ type: 'object' })], "has a tool 'a' already"],
    ['an odd name', [marked({ type: 'object' }, 'a b')], 'its name must match'],
    ['an input that is no object', [marked(z.string())], "must have the type 'object'"],
    ['a schema that is none', [marked({ type: 'object', properties: 7 })], 'Marked.run: '],
  ])('tools of the program stop the start for %s', async (_name, providers, message) => {
    await expect(start(providers)).rejects.toThrow(message);
  });

  it('tools of the program stop the start for a server that both the program and MCP_SERVERS have', async () => {
    const servers = { studio: { url: 'http://127.0.0.1:9/mcp' } };
    await expect(start([Studio], servers)).rejects.toThrow("the program has tools of its own as 'studio'");
  });

  it('tools of the program stop the start for injected ones that do not exist', async () => {
    const starting = startService({ providers: [ScriptedProvider], injectedTools: [{ server: 'none' }] });
    await expect(starting).rejects.toThrow("no @ServerTool has the server 'none'");
  });
});
