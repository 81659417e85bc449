// Slow: starts a browser.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { itInPython } from '../support/tests-with-programs.js';
import { call, say } from '../support/scripted-calls.js';
import { describeConsole, KEY } from './use-console.js';

const WEATHER = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } };

let folder: string;
let mail: FakeMcpServer;

describeConsole(
  'the tools of the playground',
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-console-tools-'));
    mail = await FakeMcpServer.start([{ name: 'send', description: 'Sends a letter.', handler: () => 'sent' }]);
    const path = join(folder, 'servers.json');
    await writeFile(path, JSON.stringify({ servers: { mail: { url: mail.url, require_approval: 'always' } } }));
    return { providers: [ScriptedProvider], environment: { MCP_SERVERS: path } };
  },
  (test) => {
    afterAll(async () => {
      await mail.close();
      await rm(folder, { recursive: true });
    });
    beforeEach(() => {
      test.service.provider.turns.length = 0;
    });

    const options = (): Promise<void> => test.page.getByText('Options').click();
    const answer = () => test.page.locator('.message.assistant').last();

    it('the tools of the playground search vector stores that are chosen, show what was found, and what of it is cited', async () => {
      test.service.provider.embed = async (request) => simulateEmbeddings(request);
      const { files, vectorStores } = test.service.client({ apiKey: KEY });
      const text = Buffer.from('Employees have thirty days of leave a year.');
      const { id } = await files.create({ file: await toFile(text, 'leave.txt'), purpose: 'assistants' });
      const store = await vectorStores.create({ name: 'Rules' });
      await vectorStores.files.createAndPoll(store.id, { file_id: id }, { pollIntervalMs: 5 });
      test.service.provider.reply(...call('file_search', { queries: ['leave'] })).reply(...say('Thirty days【f1】.'));
      await test.enter();
      await options();
      await test.page.getByLabel('Rules (1 file)').check();
      await test.say('How much leave?');
      await test.completed(1);
      const search = test.page.locator('.entry', { hasText: 'File search: leave' });
      await search.locator('summary').click();
      await search.getByText('1 result').waitFor();
      await search.getByText('Employees have thirty days of leave a year.').waitFor();
      const sources = test.page.getByLabel('Sources');
      await sources.getByText('leave.txt').click();
      await sources.getByText('Employees have thirty days of leave a year.').waitFor();
      expect(await answer().innerText()).toContain('Thirty days.');
    });

    it('the tools of the playground give the outputs of functions that are typed into a form', async () => {
      test.service.provider.reply(...call('weather', { city: 'Oslo' })).reply(...say('It rains.'));
      await test.enter();
      await options();
      await test.page.getByLabel('Tools, as a JSON array').fill(JSON.stringify([WEATHER]));
      await test.say('Weather?');
      await test.page.getByText('"city": "Oslo"').waitFor();
      await test.page.getByLabel('Output of weather').fill('rain');
      await test.page.getByRole('button', { name: 'Send answer' }).click();
      await test.completed(2);
      expect(await answer().innerText()).toContain('It rains.');
      expect(test.service.provider.turns.at(-1)?.context.at(-1)).toMatchObject({
        type: 'function_call_output',
        output: 'rain',
      });
    });

    it('the tools of the playground give the outputs of custom tools that are typed into a form', async () => {
      test.service.provider
        .reply(
          { type: 'custom_tool_call', name: 'shell', callId: 'call_shell', key: 'shell' },
          { type: 'custom_tool_call_input', delta: 'ls', key: 'shell' },
          { type: 'end', key: 'shell' },
        )
        .reply(...say('One file.'));
      await test.enter();
      await options();
      await test.page.getByLabel('Tools, as a JSON array').fill('[{ "type": "custom", "name": "shell" }]');
      await test.say('Which files?');
      await test.page.getByLabel('Output of shell').fill('notes.txt');
      await test.page.getByRole('button', { name: 'Send answer' }).click();
      await test.completed(2);
      expect(await answer().innerText()).toContain('One file.');
      expect(test.service.provider.turns.at(-1)?.context.at(-1)).toMatchObject({
        type: 'custom_tool_call_output',
        output: 'notes.txt',
      });
    });

    it('the tools of the playground say which field is not JSON, and keep the message', async () => {
      await test.enter();
      await options();
      await test.page.getByLabel('Tools, as a JSON array').fill('[');
      await test.say('Weather?');
      await test.page.getByText('Tools, as a JSON array: this is not valid JSON.').waitFor();
      expect(await test.page.getByLabel('Message').inputValue()).toBe('Weather?');
      expect(test.service.provider.turns).toEqual([]);
    });

    it.each([
      ['Approve', 1, /Call of send on mail/],
      ['Reject', 0, /Rejected: Not today/],
    ] as const)(
      'the tools of the playground ask for approvals of MCP calls in the lane: %s',
      async (decision, calls, shown) => {
        mail.requests.length = 0;
        test.service.provider.reply(...call('mail__send', { to: 'Ada' })).reply(...say('Done.'));
        await test.enter();
        await options();
        await test.page.getByLabel('MCP servers of the service').fill('mail');
        await test.say('Write to Ada.');
        await test.page.getByRole('group', { name: 'May send on mail be called?' }).waitFor();
        // The list of a server that answers has no mark of a failure.
        expect(await test.page.getByText(/^Tools of mail/).innerText()).toBe('Tools of mail (1)');
        if (decision === 'Reject') await test.page.getByLabel('Reason, for the model').fill('Not today');
        await test.page.getByLabel(decision).check();
        await test.page.getByRole('button', { name: 'Send answer' }).click();
        await test.completed(2);
        await test.page.getByText(shown).waitFor();
        expect(mail.requests.filter(({ message }) => message.method === 'tools/call')).toHaveLength(calls);
      },
    );

    it('the tools of the playground show structured output as JSON', async () => {
      test.service.provider.reply(...say('{"city":', '"Oslo"}'));
      await test.enter();
      await options();
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      };
      await test.page.getByLabel('JSON schema of the answer').fill(JSON.stringify(schema));
      await test.say('Where?');
      await test.completed(1);
      expect(await answer().locator('pre').innerText()).toBe('{\n  "city": "Oslo"\n}');
      expect(test.service.provider.turns[0]?.settings.text).toMatchObject({ format: { type: 'json_schema', schema } });
    });

    it('the tools of the playground take files by drop, which can be removed before they are sent', async () => {
      await test.enter();
      const data = await test.page.evaluateHandle(`(() => {
        const data = new DataTransfer();
        for (const name of ['a.txt', 'b.txt']) data.items.add(new File(['Hello ' + name], name, { type: 'text/plain' }));
        return data;
      })()`);
      await test.page.getByLabel('Lane 1', { exact: true }).dispatchEvent('drop', { dataTransfer: data });
      await test.page.getByRole('button', { name: 'Remove a.txt' }).click();
      await test.page.getByRole('button', { name: 'Remove b.txt' }).waitFor();
      await test.say('Read this.');
      await test.completed(1);
      const file_data = `data:text/plain;base64,${Buffer.from('Hello b.txt').toString('base64')}`;
      expect(test.service.provider.turns[0]?.context.at(-1)).toMatchObject({
        content: [
          { type: 'input_text', text: 'Read this.' },
          { type: 'input_file', filename: 'b.txt', file_data },
        ],
      });
      expect(await test.page.getByRole('button', { name: 'Remove b.txt' }).count()).toBe(0);
    });

    /** Sends a turn with quotes and options in it, and gives its code by language. */
    async function codes(transport: string): Promise<ReadonlyMap<string, string>> {
      await test.enter();
      await options();
      await test.page.getByLabel('Instructions').fill(`Don't say "no" or\n$HOME or \\ or ☃`);
      await test.page.getByLabel('Transport').selectOption(transport);
      await test.say(`It's 'so'`);
      await test.completed(1);
      await test.page.getByText('As code').click();
      await test.page.getByText('JavaScript', { exact: true }).waitFor();
      const figures = await test.page.locator('article figure').all();
      const texts = figures.map(async (figure) => {
        const code = await figure.locator('pre').textContent();
        return [(await figure.locator('figcaption').textContent()) ?? '', code ?? ''] as const;
      });
      return new Map(await Promise.all(texts));
    }

    /** What the model was asked by the page, and after that by the code. */
    const askedTwice = (): readonly unknown[] =>
      test.service.provider.turns.map(({ settings: { instructions, model, store }, context }) => [
        ...[instructions, model, store],
        context.map(({ id: _, ...item }) => item),
      ]);

    const run = promisify(execFile);
    const environment = { env: { ...process.env, API_KEY: KEY } };

    it.each([
      ['JSON', 'curl'],
      ['SSE', 'curl'],
      ['JSON', 'JavaScript'],
      ['SSE', 'JavaScript'],
      ['WebSocket', 'JavaScript'],
    ])(
      'the tools of the playground give a turn over %s as code for %s, which asks the same',
      async (transport, language) => {
        const code = (await codes(transport)).get(language) ?? '';
        test.service.provider.reply(...say('from the code'));
        const socketEnds =
          transport === 'WebSocket'
            ? `\nws.on('event', ({ type }) => type === 'response.completed' && ws.close());`
            : '';
        const [program, ...options]: readonly [string, ...string[]] =
          language === 'curl'
            ? ['sh', '-c', code]
            : [process.execPath, '--input-type=module', '--eval', code + socketEnds];
        const { stdout } = await run(program, options, environment);
        expect(stdout).toContain('from the code');
        const [page, again] = askedTwice();
        expect(again).toEqual(page);
      },
    );

    itInPython('the tools of the playground give a turn as code for Python, which asks the same', async (runPython) => {
      const code = (await codes('JSON')).get('Python') ?? '';
      test.service.provider.reply(...say('[1]'));
      expect(await runPython(code.replace('os.environ.get("API_KEY", "unused")', JSON.stringify(KEY)))).toEqual([1]);
      const [page, again] = askedTwice();
      expect(again).toEqual(page);
    });
  },
);
