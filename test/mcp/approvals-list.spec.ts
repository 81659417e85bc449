import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { TRIGGER } from '../support/compaction.js';
import type { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { call, say } from '../support/scripted-calls.js';
import { itemsOf, typesOf } from '../support/output.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import type { WireResponse } from '../support/transport.js';

const TOOLS = [{ type: 'mcp', server_label: 'mail' }];
const TENANTS = ['red', 'blue', 'green', 'grey', 'lime', 'pink', 'teal'] as const;

/** A page of `GET /approvals`. */
interface ApprovalPage {
  readonly data: readonly {
    readonly id: string;
    readonly conversation: { readonly id: string } | null;
    readonly requests: readonly { readonly id: string; readonly arguments: string }[];
  }[];
  readonly last_id: string | null;
  readonly has_more: boolean;
}

describe.each(STATES)('GET /approvals, with the state $state', ({ open }) => {
  let folder: string;
  let mail: FakeMcpServer;
  const service = useService(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-approvals-'));
    mail = await FakeMcpServer.start([{ name: 'send', handler: () => 'sent' }]);
    const path = join(folder, 'servers.json');
    await writeFile(path, JSON.stringify({ servers: { mail: { url: mail.url, require_approval: 'always' } } }));
    return await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { MCP_SERVERS: path, API_KEYS: TENANTS.map((tenant) => `${tenant}:${tenant}-key`).join(',') },
    });
  });
  afterAll(async () => {
    await mail.close();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => {
    service.provider.turns.length = 0;
  });

  const api = (tenant: (typeof TENANTS)[number]): ApiClient =>
    service.api.with({ authorization: `Bearer ${tenant}-key` });

  /** Has the model ask to write to somebody. Gives the response. */
  async function ask(tenant: (typeof TENANTS)[number], to: string, more: object = {}) {
    service.provider.reply(...call('mail__send', { to }));
    return api(tenant).create({ tools: TOOLS, ...more });
  }
  async function list(tenant: (typeof TENANTS)[number], query = ''): Promise<ApprovalPage> {
    const { status, body } = await api(tenant).get(`approvals${query}`);
    expect([status, body]).toEqual([200, expect.anything()]);
    return body as unknown as ApprovalPage;
  }
  const idsOf = ({ data }: ApprovalPage): readonly string[] => data.map(({ id }) => id);

  it('GET /approvals lists what waits for the tenant, newest first, page by page', async () => {
    const ada = await ask('red', 'Ada');
    const bob = await ask('red', 'Bob');
    await ask('blue', 'Eve');
    const all = await list('red');
    expect(all).toMatchObject({ object: 'list', has_more: false, first_id: bob.id, last_id: ada.id });
    expect(all.data).toEqual(
      [bob, ada].map(({ id }) => ({
        ...{ id, object: 'approval', model: 'scripted', created_at: expect.any(Number), conversation: null },
        requests: [expect.objectContaining({ type: 'mcp_approval_request', server_label: 'mail', name: 'send' })],
      })),
    );
    expect(all.data[0]?.requests[0]?.arguments).toContain('Bob');
    const first = await list('red', '?limit=1');
    expect([idsOf(first), first.has_more]).toEqual([[bob.id], true]);
    const second = await list('red', `?limit=1&after=${String(first.last_id)}`);
    expect([idsOf(second), second.has_more]).toEqual([[ada.id], false]);
  });

  /** Answers the request of a response, in a model's turn with this script. */
  async function answer(response: WireResponse, place: object, ...script: readonly ModelEvent[]): Promise<void> {
    const [request] = itemsOf(response, 'mcp_approval_request');
    const input = [{ type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: false }];
    service.provider.reply(...script);
    await api('green').create({ input, tools: TOOLS, ...place });
  }

  /** Has a turn fail once its model has begun to write. */
  async function fail(body: object): Promise<void> {
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'I' };
      throw new Error('down');
    });
    expect(await api('green').create(body)).toMatchObject({ status: 'failed' });
  }

  it('GET /approvals leaves out what was answered, also in a conversation and in a turn that has failed', async () => {
    const { body: conversation } = await api('green').post('conversations', {});
    const place = { conversation: conversation['id'] };
    const chained = await ask('green', 'Ada');
    const talked = await ask('green', 'Bob', place);
    const lost = await ask('green', 'Eve');
    const waits = async (...waiting: readonly WireResponse[]): Promise<void> =>
      expect(idsOf(await list('green'))).toEqual(waiting.map(({ id }) => id));
    await waits(lost, talked, chained);
    // A turn that has failed without an answer.
    await fail({ previous_response_id: chained.id });
    await waits(lost, talked, chained);
    await answer(talked, place, ...say('Not then.'));
    await waits(lost, chained);
    await answer(chained, { previous_response_id: chained.id }, ...say('Not then.'));
    await waits(lost);
    const [request] = itemsOf(lost, 'mcp_approval_request');
    const input = [{ type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: false }];
    await fail({ input, tools: TOOLS, previous_response_id: lost.id });
    await waits();
  });

  it('GET /approvals keeps a request that turns and compactions have left open, until it is answered behind them', async () => {
    const { body: conversation } = await api('pink').post('conversations', {});
    const talk = { conversation: conversation['id'] };
    const talked = await ask('pink', 'Bob', talk);
    const chained = await ask('pink', 'Ada');
    const answerIn = async (response: WireResponse, place: object): Promise<WireResponse> => {
      const [request] = itemsOf(response, 'mcp_approval_request');
      const input = [{ type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true }];
      service.provider.reply(...say('Sent.'));
      return api('pink').create({ input, tools: TOOLS, ...place });
    };
    let previous_response_id = chained.id;
    for (const input of ['Wait.', [TRIGGER], 'And now?']) {
      service.provider.reply(...say('I wait.')).reply(...say('I wait.'));
      ({ id: previous_response_id } = await api('pink').create({ input, tools: TOOLS, previous_response_id }));
      await api('pink').create({ input, tools: TOOLS, ...talk });
      expect(idsOf(await list('pink'))).toEqual([chained.id, talked.id]);
    }
    expect(typesOf(await answerIn(chained, { previous_response_id }))).toContain('mcp_call');
    expect(idsOf(await list('pink'))).toEqual([talked.id]);
    expect(typesOf(await answerIn(talked, talk))).toContain('mcp_call');
    expect(idsOf(await list('pink'))).toEqual([]);
  });

  it('GET /approvals lists the requests of a response that are left, and where they can be answered', async () => {
    const { body: conversation } = await api('teal').post('conversations', {});
    const talk = { conversation: conversation['id'] };
    service.provider.reply(...call('mail__send', { to: 'Ada' }), ...call('mail__send', { to: 'Bob' }));
    const asking = await api('teal').create({ tools: TOOLS, ...talk });
    const [ada, bob] = itemsOf(asking, 'mcp_approval_request').map(({ id }) => id as string);
    const requestsLeft = async (): Promise<unknown> =>
      (await list('teal')).data.map((row) => [row.conversation?.id, row.requests.map(({ id }) => id)]);
    expect(await requestsLeft()).toEqual([[talk.conversation, [ada, bob]]]);
    const answerTo = (id: unknown) => ({ type: 'mcp_approval_response', approval_request_id: id, approve: false });
    service.provider.reply(...say('Not to Ada then.'));
    await api('teal').create({ input: [answerTo(ada)], tools: TOOLS, ...talk });
    expect(await requestsLeft()).toEqual([[talk.conversation, [bob]]]);
    const other = await ask('teal', 'Eve', talk);
    const eve = itemsOf(other, 'mcp_approval_request')[0]?.['id'];
    await api('teal').delete(`conversations/${String(talk.conversation)}/items/${String(eve)}`);
    expect(await requestsLeft()).toEqual([[talk.conversation, [bob]]]);
    await api('teal').delete(`responses/${other.id}`);
    await api('teal').delete(`conversations/${String(talk.conversation)}`);
    expect(await requestsLeft()).toEqual([[undefined, [bob]]]);
    service.provider.reply(...say('Not to Bob either.'));
    const last = { input: [answerTo(bob)], tools: TOOLS, previous_response_id: asking.id };
    expect(await api('teal').create(last)).toMatchObject({ status: 'completed' });
    expect(await requestsLeft()).toEqual([]);
  });

  it('GET /approvals keeps a response whose approval has the id of no request: it is refused', async () => {
    const { id } = await ask('lime', 'Ada');
    for (const wrong of ['mcpr_typo', `mcpr_${'0'.repeat(52)}`, 'mcpr_01a21d945f0322b07bf942ea7386785a', '']) {
      const input = [{ type: 'mcp_approval_response', approval_request_id: wrong, approve: true }];
      const { status, body } = await api('lime').post('responses', {
        model: 'm',
        tools: TOOLS,
        previous_response_id: id,
        input,
      });
      expect([status, body]).toMatchObject([400, { error: { param: 'input[0].approval_request_id' } }]);
    }
    expect(idsOf(await list('lime'))).toEqual([id]);
  });

  it('GET /approvals says where to go on when 200 responses have nothing that waits', async () => {
    const { id } = await ask('grey', 'Ada');
    for (let count = 0; count < 200; count += 1) {
      service.provider.reply(...say('Hi'));
      await api('grey').create({});
    }
    const first = await list('grey');
    expect([idsOf(first), first.has_more]).toEqual([[], true]);
    expect(idsOf(await list('grey', `?after=${String(first.last_id)}`))).toEqual([id]);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=many', 'limit'],
    ['after=', 'after'],
    ['after=resp_unknown', 'after'],
  ])('GET /approvals refuses %s', async (query, param) => {
    expect(await api('red').get(`approvals?${query}`)).toMatchObject({ status: 400, body: { error: { param } } });
  });
});
