import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { asTenant } from '../../src/access/index.js';
import { McpServers } from '../../src/tools/mcp/index.js';
import { McpApprovals } from '../../src/responses/tools/mcp-approvals.js';
import { checkEventOrder, FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { BackgroundLog } from '../support/background-attempts.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';

/** What the server has carried out, in order. */
const done: string[] = [];
const note =
  (name: string) =>
  ({ args }: { readonly args: object }): string => {
    done.push(`${name} ${JSON.stringify(args)}`);
    return `${name} done`;
  };

const server = await FakeMcpServer.start([
  { name: 'read', annotations: { readOnlyHint: true }, handler: note('read') },
  { name: 'send', handler: note('send') },
]);
const path = await writeMcpServers({ mail: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const TOOLS = [{ type: 'mcp', server_label: 'mail', require_approval: 'never' }];

const call = (name: string): readonly ModelEvent[] => [
  { type: 'function_call', name: `mail__${name}`, callId: `call_${name}`, key: name },
  { type: 'function_call_arguments', delta: '{"n":1}', key: name },
  { type: 'end', key: name },
];

/** The outcome of the calls of a tool: its output, or that nobody knows. */
const outcomesOf = (output: readonly object[], name: string): readonly string[] =>
  (output as readonly Readonly<Record<string, unknown>>[])
    .filter((item) => item['type'] === 'mcp_call' && item['name'] === name)
    .map(({ output: text, error }) => (error === null ? String(text) : 'unknown'));

describe.each([
  ['safe', { read: 2, send: 1 }],
  ['never', { read: 1, send: 1 }],
  ['always', { read: 2, send: 2 }],
] as const)('a background turn whose process dies, with MCP_REPEAT_CALLS=%s', (rule, most) => {
  const service = useService({
    providers: [ScriptedProvider],
    environment: { MCP_SERVERS: path, MCP_REPEAT_CALLS: rule },
  });

  beforeEach(() => {
    done.length = 0;
    // The model makes each call until it has seen what that has come to.
    service.provider.otherwise(async function* ({ context }) {
      const made = new Set(context.map(({ name }) => name));
      const open = ['read', 'send'].filter((name) => !made.has(`mail__${name}`));
      yield* open.length === 0 ? [{ type: 'text', delta: 'Done.' } as const] : open.flatMap(call);
      yield { type: 'usage', input: 1, output: 1 };
      yield { type: 'finish', reason: 'stop' };
    });
  });

  it('a background turn whose process dies goes on from wherever its log ends, and sends again only what it may', async () => {
    const request = { tools: TOOLS as never };
    const whole = await BackgroundLog.queue(service, request).run();
    expect(whole.response).toMatchObject({ status: 'completed' });
    expect(done).toHaveLength(2);
    // The first two are stored with the response.
    for (let length = 2; length < whole.entries.length; length++) {
      const before = whole.cut(length);
      // The end of a pass is stored together with what follows it.
      if (before.entries.at(-1)?.type === 'finish') continue;
      // A call is sent behind these events: the process that wrote the log so far has maybe sent it.
      const begun = before.entries.filter(({ type }) => type === 'response.mcp_call_arguments.done').length;
      done.length = 0;
      const { response, wire } = await before.run();
      checkEventOrder(wire, { transport: 'ws' });
      const sent = { read: countOf('read') + (begun > 0 ? 1 : 0), send: countOf('send') + (begun > 1 ? 1 : 0) };
      expect({ length, status: response.status }).toEqual({ length, status: 'completed' });
      expect(sent.read).toBeLessThanOrEqual(most.read);
      expect(sent.send).toBeLessThanOrEqual(most.send);
      // Nothing is lost in silence: the model has an outcome of each call.
      expect(outcomesOf(response.output, 'read').length).toBeGreaterThan(0);
      expect(['send done', 'unknown']).toContain(outcomesOf(response.output, 'send')[0]);
    }
  });

  it('a background turn whose process dies runs a call that was approved', async () => {
    const tenant = asTenant('acme');
    const { identity } = service.app.get(McpServers).find(TOOLS[0] as never, tenant, 'tools[0]');
    const call = { tenant, server: identity, name: 'send', arguments: '{"n":1}' };
    const id = await service.app.get(McpApprovals).issue(call);
    const asked = { type: 'mcp_approval_request', id, server_label: 'mail', name: 'send', arguments: '{"n":1}' };
    const answer = { type: 'mcp_approval_response', approval_request_id: id, approve: true };
    const whole = await BackgroundLog.queue(service, { tools: TOOLS, input: [asked, answer] } as never).run();
    // The call comes before the model, which makes the other one.
    expect(done.map((entry) => entry.split(' ')[0])).toEqual(['send', 'read']);
    for (let length = 2; length < whole.entries.length; length++) {
      const before = whole.cut(length);
      if (before.entries.at(-1)?.type === 'finish') continue;
      const hasBegun = before.entries.some(({ type }) => type === 'response.mcp_call_arguments.done');
      done.length = 0;
      const { response } = await before.run();
      expect({ length, status: response.status }).toEqual({ length, status: 'completed' });
      expect(countOf('send') + (hasBegun ? 1 : 0)).toBeLessThanOrEqual(most.send);
      expect(outcomesOf(response.output, 'send')).toHaveLength(1);
    }
  });
});

function countOf(name: string): number {
  return done.filter((entry) => entry.startsWith(name)).length;
}
