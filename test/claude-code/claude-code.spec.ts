import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { type ChatService, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { FakeSearxng } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startWithScripts } from '../support/script-files.js';
import { ClaudeCode } from './claude-code.js';

const service = useService<ChatService>(() =>
  startChatService({
    provider: { capabilities: { reasoning_replay: 'reasoning' } },
    models: [{ default: true, provider: 'upstream' }],
  }),
);

let claude: ClaudeCode;

beforeEach(async () => {
  service.upstream.requests.length = 0;
  claude = await ClaudeCode.create(service.origin);
});

afterEach(async () => {
  expect(claude.strayed).toEqual([]);
  await claude[Symbol.asyncDispose]();
});

const bash = (command: string): { name: string; arguments: string } => ({
  name: 'Bash',
  arguments: JSON.stringify({ command, description: 'Runs it' }),
});

/** What the model was told last. */
const told = (): readonly object[] => service.upstream.requests.at(-1)?.body.messages ?? [];

// With models of Anthropic it thinks, and asks for betas; others it does not know.
describe.each(['gpt-5', 'claude-sonnet-4-5'])('Claude Code, with a model called %s', (model) => {
  it('Claude Code edits a file and runs it, with tools side by side', async () => {
    const path = join(claude.work, 'greet.sh');
    await writeFile(path, 'echo Hello');
    service.upstream
      .answer({
        reasoning: 'Two things at once.',
        text: 'I look.',
        toolCalls: [{ name: 'Read', arguments: JSON.stringify({ file_path: path }) }, bash('sh greet.sh')],
      })
      .answer({
        toolCalls: [
          {
            name: 'Edit',
            arguments: JSON.stringify({ file_path: path, old_string: 'Hello', new_string: 'Good evening' }),
          },
        ],
      })
      .answer({ toolCalls: [bash('sh greet.sh')] })
      .answer({ text: 'It greets in the evening.' });
    const run = await claude.exec('Make it greet in the evening.', '--model', model);
    expect(run).toMatchObject({ code: 0, result: { is_error: false, result: 'It greets in the evening.' } });
    expect(await readFile(path, 'utf8')).toBe('echo Good evening');
    expect(told()).toContainEqual(
      expect.objectContaining({ role: 'tool', content: expect.stringMatching(/^Good evening/) }),
    );
    const first = told().find((message) => 'tool_calls' in message);
    const replayed = model === 'gpt-5' ? {} : { reasoning: 'Two things at once.' };
    expect(first).toMatchObject({ content: 'I look.', tool_calls: [{}, {}], ...replayed });
  });

  it('Claude Code asks again after a 429, and after a stream that is cut', async () => {
    service.upstream
      .refuse(429, undefined, { 'retry-after': '0' })
      .answer({ text: ['Half', ' of', ' it'] }, { breaks: { after: 2, by: 'cut' } })
      .answer({ text: 'All of it.' });
    const run = await claude.exec('Say all of it.', '--model', model);
    expect(run).toMatchObject({ code: 0, result: { is_error: false, result: 'All of it.' } });
    expect(service.upstream.requests.length).toBeGreaterThan(2);
  });

  it('Claude Code carries a long context through tools side by side, and into a resumed session', async () => {
    const names = ['north', 'east', 'south', 'west'];
    const paths = names.map((name) => join(claude.work, `${name}.txt`));
    // As much as it reads of a file at once.
    const lines = (name: string): string => Array.from({ length: 1200 }, (_, at) => `${name} of line ${at}`).join('\n');
    await Promise.all(names.map((name, index) => writeFile(paths[index] ?? '', lines(name))));
    service.upstream
      .answer({ toolCalls: paths.map((path) => ({ name: 'Read', arguments: JSON.stringify({ file_path: path }) })) })
      .answer({ text: 'I have read them.' })
      .answer({ text: 'Four.' });
    const read = await claude.exec('Read the four files.', '--model', model);
    expect(read).toMatchObject({ code: 0, result: { is_error: false, result: 'I have read them.' } });
    const resume = ['--model', model, '--resume', String(read.result?.session_id)];
    const resumed = await claude.exec('How many were they?', ...resume);
    expect(resumed).toMatchObject({ code: 0, result: { is_error: false, result: 'Four.' } });
    const outputs = told().filter((message) => 'role' in message && message.role === 'tool');
    const last = new RegExp(`(${names.join('|')}) of line 1199`);
    expect(outputs.map((output) => last.exec(JSON.stringify(output))?.[1])).toEqual(names);
  });

  it('Claude Code resumes a session', async () => {
    service.upstream.answer({ text: 'Hello, Ada.' }).answer({ text: 'Ada.' });
    const first = await claude.exec('My name is Ada.', '--model', model);
    const resumed = await claude.exec(
      'What is my name?',
      '--model',
      model,
      '--resume',
      String(first.result?.session_id),
    );
    expect(resumed).toMatchObject({ code: 0, result: { is_error: false, result: 'Ada.' } });
    expect(told()).toContainEqual(expect.objectContaining({ role: 'assistant', content: 'Hello, Ada.' }));
  });
});

describe('Claude Code', () => {
  it('Claude Code searches the web with the engine of the service', async () => {
    await using engine = await FakeSearxng.start([
      { title: 'Bees', url: 'https://bees.example/', content: 'Bees dance.' },
    ]);
    await using searching = await startChatService({
      models: [{ default: true, provider: 'upstream' }],
      environment: { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url },
    });
    await using worker = await ClaudeCode.create(searching.origin);
    searching.upstream
      .answer({ toolCalls: [{ name: 'WebSearch', arguments: '{"query":"bee dance"}' }] })
      .answer({ toolCalls: [{ name: 'web_search', arguments: '{"queries":["bee dance"]}' }] })
      .answer({ text: 'Bees dance in the hive.' })
      .answer({ text: 'They do.' });
    const run = await worker.exec('Do bees dance?', '--model', 'claude-sonnet-4-5');
    expect(run).toMatchObject({ code: 0, result: { is_error: false, result: 'They do.' } });
    expect(engine.searches.map(({ query }) => query)).toEqual([expect.stringContaining('bee dance')]);
    const content: unknown = expect.stringContaining('Bees dance in the hive.');
    expect(searching.upstream.requests.at(-1)?.body.messages).toContainEqual(
      expect.objectContaining({ role: 'tool', content }),
    );
    expect(worker.strayed).toEqual([]);
  });

  it('Claude Code does what a script of the simulator has it do', async () => {
    const turns = [
      {
        text: 'I write.',
        calls: [{ name: 'Bash', arguments: { command: 'echo done > note.txt', description: 'Writes' } }],
      },
      { text: 'Written.' },
    ];
    await using simulated = await startWithScripts({ 'claude-sonnet-4-5.json': { turns } });
    await using worker = await ClaudeCode.create(simulated.origin);
    const run = await worker.exec('Write a note.', '--model', 'claude-sonnet-4-5');
    expect(run).toMatchObject({ code: 0, result: { is_error: false, result: 'Written.' } });
    expect(await readFile(join(worker.work, 'note.txt'), 'utf8')).toBe('done\n');
    expect(worker.strayed).toEqual([]);
  });
});
