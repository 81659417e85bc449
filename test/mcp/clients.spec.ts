import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Agent, hostedMcpTool, MemorySession, type RunToolApprovalItem, Runner } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';

import type { ModelEvent } from '../../src/index.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { itInPython } from '../support/tests-with-programs.js';
import { startService } from '../support/service.js';

const server = await FakeMcpServer.start([
  { name: 'look', description: 'Looks.', annotations: { readOnlyHint: true }, handler: () => 'Three left.' },
  { name: 'buy', description: 'Buys.', handler: () => 'Bought.' },
]);
const path = await writeMcpServers({ shop: { url: server.url } });

const service = useService(
  () => startService({ providers: [ScriptedProvider], environment: { MCP_SERVERS: path } }) as never,
);

afterAll(async () => {
  await server.close();
});

beforeEach(() => {
  service.provider.turns.length = 0;
  server.requests.length = 0;
});

const call = (name: string, args: object): readonly ModelEvent[] => [
  { type: 'function_call', name: `shop__${name}`, callId: `call_${name}`, key: name },
  { type: 'function_call_arguments', delta: JSON.stringify(args), key: name },
];

/** A model that looks, and then says what it has found in JSON. */
const answerWithLook = (): void => {
  service.provider.reply(...call('look', { sku: 1 })).reply({ type: 'text', delta: '{"left":3}' });
};

/** A model that buys, and says that it has. */
const answerWithPurchase = (): void => {
  service.provider.reply(...call('buy', { sku: 1 })).reply({ type: 'text', delta: 'Done.' });
};

const SHOP = { type: 'mcp', server_label: 'shop', require_approval: 'never' } as const;
const LOOKED = [
  { type: 'mcp_list_tools', server_label: 'shop', tools: [{ name: 'look' }, { name: 'buy' }] },
  { type: 'mcp_call', server_label: 'shop', name: 'look', arguments: '{"sku":1}', output: 'Three left.', error: null },
  { type: 'message' },
];

describe('the openai SDK', () => {
  it('the openai SDK streams the items of a turn with a call', async () => {
    answerWithLook();
    const stream = service.client().responses.stream({ model: 'm', input: 'How many?', tools: [SHOP] });
    const deltas: string[] = [];
    stream.on('response.mcp_call_arguments.delta', ({ delta }) => void deltas.push(delta));
    const { output, output_text: said } = await stream.finalResponse();
    expect(output).toMatchObject(LOOKED);
    // The AI SDK refuses an answer with a null here.
    expect(JSON.stringify(output[0])).not.toContain('null');
    expect(said).toBe('{"left":3}');
    expect(deltas.join('')).toBe('{"sku":1}');
  });

  it('the openai SDK parses the output of a turn with a call', async () => {
    answerWithLook();
    const format = zodTextFormat(z.object({ left: z.int() }), 'stock');
    const body = { model: 'm', input: 'How many?', tools: [SHOP], text: { format } };
    const { output, output_parsed: parsed } = await service.client().responses.parse(body);
    expect(output).toMatchObject(LOOKED);
    expect(parsed).toEqual({ left: 3 });
  });

  it('the openai SDK brings an approval, with a context that it keeps itself', async () => {
    answerWithPurchase();
    const input = [{ role: 'user' as const, content: 'Buy it.' }];
    const body = { model: 'm', tools: [{ ...SHOP, require_approval: 'always' as const }], store: false };
    const { output } = await service.client().responses.create({ ...body, input });
    const [, request] = output;
    const answer = {
      type: 'mcp_approval_response',
      approval_request_id: request?.id ?? '',
      approve: true,
    } as const;
    const next = { ...body, input: [...input, ...(output as ResponseInputItem[]), answer] };
    const { output: last } = await service.client().responses.create(next);
    expect(last).toMatchObject([{ type: 'mcp_call', output: 'Bought.' }, { type: 'message' }]);
    expect(server.count('tools/call')).toBe(1);
    expect(server.count('tools/list')).toBe(1);
  });
});

/** What a run of an agent has come to, for agents of all types. */
interface Result {
  readonly finalOutput?: unknown;
  readonly interruptions: readonly RunToolApprovalItem[];
  readonly state: {
    approve(asked: RunToolApprovalItem): void;
    reject(asked: RunToolApprovalItem): void;
  };
}

describe.each([{ stream: false }, { stream: true }] as const)('the Agents SDK, with %j', ({ stream }) => {
  /** Runs an agent that may buy with consent, or a run of it that was interrupted. */
  const run = async (
    runs: (go: (input: string | Result['state']) => Promise<Result>) => Promise<void>,
    options: object = {},
    session?: MemorySession,
  ): Promise<void> => {
    const modelProvider = new OpenAIProvider({ openAIClient: service.client(), useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const tools = [
      hostedMcpTool({ serverLabel: 'shop', serverUrl: server.url, requireApproval: 'always', ...options } as never),
    ];
    const agent = new Agent({ name: 'Buyer', model: 'm', tools });
    try {
      await runs(async (input) => {
        const kept = session === undefined ? {} : { session };
        if (!stream) return runner.run(agent, input as string, kept);
        const streamed = await runner.run(agent, input as string, { ...kept, stream });
        await streamed.completed;
        return streamed;
      });
    } finally {
      await modelProvider.close();
    }
  };

  it.each([
    ['approved', 1],
    ['rejected', 0],
  ] as const)(
    'the Agents SDK is interrupted by a request for an approval, and goes on when it is %s',
    async (decision, calls) => {
      answerWithPurchase();
      await run(async (go) => {
        const first = await go('Please buy it.');
        expect(first.interruptions).toHaveLength(1);
        expect(server.count('tools/call')).toBe(0);
        for (const asked of first.interruptions) {
          if (decision === 'approved') first.state.approve(asked);
          else first.state.reject(asked);
        }
        const last = await go(first.state);
        expect(last.finalOutput).toBe('Done.');
      });
      expect(server.count('tools/call')).toBe(calls);
      expect(server.count('tools/list')).toBe(1);
      const seen = JSON.stringify(service.provider.turns.at(-1)?.context);
      expect(seen).toContain(decision === 'approved' ? 'Bought.' : 'The user has denied this call.');
    },
  );

  it.each([true, false])(
    'the Agents SDK goes on with what it remembers of an approval that was answered with %s',
    async (approve) => {
      answerWithPurchase();
      service.provider.reply({ type: 'text', delta: 'You are welcome.' });
      const onApproval = async (): Promise<{ approve: boolean }> => ({ approve });
      await run(
        async (go) => {
          expect((await go('Please buy it.')).finalOutput).toBe('Done.');
          expect((await go('Thank you.')).finalOutput).toBe('You are welcome.');
        },
        { onApproval },
        new MemorySession(),
      );
      expect(server.count('tools/call')).toBe(approve ? 1 : 0);
      expect(server.count('tools/list')).toBe(1);
    },
  );

  it('the Agents SDK asks its own function whether to approve', async () => {
    answerWithPurchase();
    const onApproval = async (): Promise<{ approve: boolean }> => ({ approve: true });
    await run(
      async (go) => {
        const { finalOutput, interruptions } = await go('Please buy it.');
        expect([finalOutput, interruptions]).toEqual(['Done.', []]);
      },
      { onApproval },
    );
    expect(server.count('tools/call')).toBe(1);
  });
});

const PYTHON = `
import json, sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
shop = {"type": "mcp", "server_label": "shop", "require_approval": "always"}
with client.responses.stream(model="m", input="Buy it.", tools=[shop]) as stream:
    types = [event.type for event in stream]
    first = stream.get_final_response()
request = first.output[-1]
answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
last = client.responses.create(model="m", input=[answer], tools=[shop], previous_response_id=first.id)
print(json.dumps([types.count("response.mcp_list_tools.completed"), request.type, last.output[0].output, last.output_text]))
`;

describe('openai-python', () => {
  itInPython('openai-python streams a request for an approval, and brings the approval', async (run) => {
    answerWithPurchase();
    expect(await run(PYTHON, service.baseURL)).toEqual([1, 'mcp_approval_request', 'Bought.', 'Done.']);
  });
});
