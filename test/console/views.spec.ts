// Slow: starts a browser.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeEach, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';

import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { call, say } from '../support/scripted-calls.js';
import { describeConsole, KEY } from './use-console.js';

let folder: string;
let mail: FakeMcpServer;

describeConsole(
  'the approvals of the console',
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-console-approvals-'));
    mail = await FakeMcpServer.start([{ name: 'send', handler: () => 'sent' }]);
    const path = join(folder, 'servers.json');
    await writeFile(path, JSON.stringify({ servers: { mail: { url: mail.url, require_approval: 'always' } } }));
    return {
      providers: [ScriptedProvider],
      environment: { MCP_SERVERS: path, API_KEYS: `red:${KEY},blue:blue-key`, SIMULATOR_CONTROL: 'true' },
    };
  },
  (test) => {
    afterAll(async () => {
      await mail.close();
      await rm(folder, { recursive: true });
    });
    beforeEach(() => {
      mail.requests.length = 0;
      test.service.provider.turns.length = 0;
    });

    /** Has the model ask to write to somebody. */
    async function ask(to: string, apiKey = KEY, more: object = {}): Promise<string> {
      test.service.provider.reply(...call('mail__send', { to }));
      const tools = [{ type: 'mcp' as const, server_label: 'mail' }];
      const client = test.service.client({ apiKey });
      const { id } = await client.responses.create({ model: 'm', input: 'Write!', tools, ...more });
      return id;
    }
    const cardOf = (to: string): Locator => test.page.locator('article.card', { hasText: `"to": "${to}"` });

    it('the approvals of the console shows the calls of the tenant that wait, and the turn that goes on when one is approved', async () => {
      await ask('Ada', KEY, { instructions: 'Be brief.' });
      await ask('Eve', 'blue-key');
      await test.enter();
      await test.open('Approvals');
      const card = cardOf('Ada');
      await card.getByLabel('Approve').check();
      test.service.provider.reply(...say('I have written to Ada.'));
      await card.getByRole('button', { name: 'Send answer' }).click();
      await card.getByText('I have written to Ada.').waitFor();
      expect(mail.count('tools/call')).toBe(1);
      expect(await cardOf('Eve').count()).toBe(0);
      expect(test.service.provider.turns.at(-1)?.settings.instructions).toBe('Be brief.');
      expect(await test.violations()).toEqual([]);
      // What was answered does not wait any more.
      await test.open('Inspector');
      await test.open('Approvals');
      await test.page.getByText('No call waits for an approval.').waitFor();
    });

    it('the approvals of the console tells the model why a call is rejected, also in a conversation', async () => {
      const { id } = await test.service.client({ apiKey: KEY }).conversations.create({});
      await ask('Bob', KEY, { conversation: id });
      await test.enter();
      await test.open('Approvals');
      const card = cardOf('Bob');
      await card.getByLabel('Reason, for the model').fill('He is asleep.');
      test.service.provider.reply(...say('Then not.'));
      await card.getByRole('button', { name: 'Send answer' }).click();
      await card.getByText('Then not.').waitFor();
      expect(mail.count('tools/call')).toBe(0);
      expect(JSON.stringify(test.service.provider.turns.at(-1)?.context)).toContain('He is asleep.');
    });

    it('the approvals of the console asks only for the answers that are left, where a conversation has gone on', async () => {
      const client = test.service.client({ apiKey: KEY });
      const { id } = await client.conversations.create({});
      test.service.provider.reply(...call('mail__send', { to: 'Zoe' }), ...call('mail__send', { to: 'Ida' }));
      const body = { model: 'scripted', tools: [{ type: 'mcp', server_label: 'mail' }], conversation: id };
      const asking = await client.responses.create({ ...body, input: 'Write to both.' } as never);
      const [request] = (asking as unknown as { output: { id: string; type: string }[] }).output.filter(
        ({ type }) => type === 'mcp_approval_request',
      );
      const input = [{ type: 'mcp_approval_response', approval_request_id: request?.id, approve: false }];
      test.service.provider.reply(...say('Not to Zoe then.'));
      await client.responses.create({ ...body, input } as never);
      await test.enter();
      await test.open('Approvals');
      const card = cardOf('Ida');
      await card.getByLabel('Approve').check();
      test.service.provider.reply(...say('I have written to Ida.'));
      await card.getByRole('button', { name: 'Send answer' }).click();
      await card.getByText('I have written to Ida.').waitFor();
    });

    it('the approvals of the console says why an answer is refused, and lets it be given again', async () => {
      const id = await ask('Mia');
      await test.enter();
      await test.open('Approvals');
      const card = cardOf('Mia');
      await card.getByLabel('Approve').check();
      await test.service.client({ apiKey: KEY }).responses.delete(id);
      await card.getByRole('button', { name: 'Send answer' }).click();
      await card.getByRole('alert').filter({ hasText: id }).waitFor();
      await card.getByRole('button', { name: 'Send answer' }).waitFor();
    });

    it('the console says that the simulator cannot be controlled where it is not there', async () => {
      await test.enter();
      await test.open('Simulator');
      await test.page.getByText('The simulator cannot be controlled here.').waitFor();
    });
  },
);

describeConsole('the simulator in the console', { environment: { SIMULATOR_CONTROL: 'true' } }, (test) => {
  it('the console has switches for the faults of the next turns of the simulator', async () => {
    await test.enter();
    await test.open('Simulator');
    const [limit, cut] = ['rate_limit', 'unavailable'].map((kind) => test.page.getByRole('switch', { name: kind }));
    await test.page.getByLabel('Turns that a switch makes fail').fill('3');
    await limit?.click();
    await test.page.getByRole('switch', { name: 'rate_limit (3)', checked: true }).waitFor();
    await cut?.click();
    await test.page.getByRole('switch', { name: 'unavailable (3)', checked: true }).waitFor();
    await limit?.click();
    await test.page.getByRole('switch', { name: 'rate_limit', exact: true, checked: false }).waitFor();
    await test.open('Playground');
    await test.say('Hi');
    await test.page.getByRole('alert').filter({ hasText: 'overloaded' }).waitFor();
    await test.open('Simulator');
    await test.page.getByRole('switch', { name: 'unavailable (2)' }).click();
    await test.page.getByRole('switch', { name: 'unavailable', exact: true, checked: false }).waitFor();
  });

  it('the console adds and removes scripts of the simulator, and shows what was asked in its journal', async () => {
    await test.enter();
    await test.open('Simulator');
    await test.page.getByLabel('A script, as JSON').fill('{');
    await test.page.getByRole('button', { name: 'Add script' }).click();
    await test.page.getByText('A script, as JSON: this is not valid JSON.').waitFor();
    const script = { model: 'gpt-5', turns: [{ text: 'From the script.' }] };
    await test.page.getByLabel('A script, as JSON').fill(JSON.stringify(script));
    await test.page.getByRole('button', { name: 'Add script' }).click();
    await test.page.getByText('gpt-5: 1 turn, by order').waitFor();
    await test.open('Playground');
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('What does the script say?');
    await test.page.getByText('From the script.').waitFor();
    await test.completed(1);
    await test.open('Simulator');
    const entry = test.page.locator('.journal li').first();
    await entry.locator('summary').click();
    await entry.getByText('What does the script say?').waitFor();
    await test.page.getByRole('button', { name: 'Remove gpt-5' }).click();
    await test.page.getByText('Without a script, answers are made up.').waitFor();
    expect(await test.violations()).toEqual([]);
    await test.page.getByRole('button', { name: 'Reset this space' }).click();
    await test.page.getByText('Nothing was asked yet.').waitFor();
  });

  it('the console shows the journal of the simulator anew after somebody else has reset its space', async () => {
    const { responses } = test.service.client({ apiKey: KEY });
    const entries = test.page.locator('.journal summary');
    const reset = async (): Promise<void> => {
      const headers = { authorization: `Bearer ${KEY}` };
      const { status } = await fetch(`${test.service.origin}/simulator/reset`, { method: 'POST', headers });
      expect(status).toBe(200);
    };
    await reset();
    await responses.create({ model: 'gpt-5', input: 'Before' });
    await test.enter();
    await test.open('Simulator');
    await entries.filter({ hasText: 'gpt-5' }).waitFor();
    await reset();
    await test.page.getByText('Nothing was asked yet.').waitFor();
    await responses.create({ model: 'gpt-5', input: 'After' });
    await entries.filter({ hasText: 'gpt-5' }).waitFor();
    // As many entries as before.
    await reset();
    await responses.create({ model: 'gpt-4o', input: 'And on' });
    await entries.filter({ hasText: 'gpt-4o' }).waitFor();
    expect(await entries.count()).toBe(1);
  });
});

let upstreams: readonly ChatUpstream[];
let routes: string;

describeConsole(
  'how a response ran, in the console',
  async () => {
    upstreams = [await ChatUpstream.start(), await ChatUpstream.start()];
    routes = await mkdtemp(join(tmpdir(), 'antiphon-console-routes-'));
    const path = join(routes, 'providers.json');
    const common = { retries: 0, discover: false, prices: { '*': { input: 1, output: 4 } } };
    const [first, second] = upstreams.map(({ baseUrl }) => ({ base_url: baseUrl, ...common }));
    const models = [{ name: 'routed', upstreams: [{ provider: 'gpu-1' }, { provider: 'gpu-2' }] }];
    await writeFile(path, JSON.stringify({ providers: { 'gpu-1': first, 'gpu-2': second }, models }));
    return { environment: { PROVIDERS_FILE: path } };
  },
  (test) => {
    afterAll(async () => {
      await Promise.all(upstreams.map((upstream) => upstream.close()));
      await rm(routes, { recursive: true });
    });

    const run = (): Locator => test.page.getByRole('region', { name: 'How it ran' });
    const inspect = async (id: string): Promise<void> => {
      await test.page.goto(`${test.service.origin}/console#inspector/${id}`);
      await test.page.getByLabel('API key').fill(KEY);
      await test.page.getByLabel('API key').press('Enter');
    };

    it('the console shows how a response ran with each attempt at an upstream, its cost and the id of its request', async () => {
      const usage = { prompt_tokens: 1000, completion_tokens: 250, total_tokens: 1250 };
      // Whichever is asked first.
      const client = test.service.client({ apiKey: KEY, maxRetries: 0 });
      for (const upstream of upstreams) upstream.always({ text: 'Yes', usage });
      const first = await client.responses.create({ model: 'routed', input: 'Hi' });
      const [busy] = upstreams.filter(({ requests }) => requests.length > 0);
      busy?.refuse(500);
      const { id, _request_id: requestId } = await client.responses.create({
        model: 'routed',
        input: 'And on',
        previous_response_id: first.id,
      });
      await inspect(id);
      const rows = run().getByRole('row');
      await rows.nth(2).waitFor();
      const texts = await rows.allInnerTexts();
      expect(texts.slice(1).map((row) => row.replace(/\s+/g, ' '))).toEqual([
        expect.stringMatching(/^1 gpu-. routed first server_error .* – /),
        expect.stringMatching(/^2 gpu-. routed fallback answered /),
      ]);
      await run().getByText('0.002', { exact: true }).waitFor();
      await run().getByText(String(requestId), { exact: true }).waitFor();
      expect(await run().innerText()).not.toContain('127.0.0.1');
      expect(await test.violations()).toEqual([]);
      await test.takePicture('console-how-it-ran', run());
      await test.page.setViewportSize({ width: 360, height: 800 });
      expect(await test.page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    });

    it('the console says that how a response ran is not known where the instance does not remember it', async () => {
      const { id } = await test.service.client({ apiKey: KEY }).responses.create({ model: 'routed', input: 'Hi' });
      const missing = { status: 404, json: { error: { message: 'Not found.' } } };
      await test.page.route('**/turn', (route) => route.fulfill(missing));
      await inspect(id);
      await run().getByText('This instance does not remember how').waitFor();
    });
  },
);
