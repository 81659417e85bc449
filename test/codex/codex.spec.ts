import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { CodexCli } from './codex-cli.js';
import { messagesIn, ROADS } from './roads.js';
import { Stack, turnsOf } from './stack.js';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';

describe.each(ROADS)('Codex $name', (road) => {
  let stack: Stack;
  let codex: CodexCli;
  /** How much each service had written before the test. */
  let before: readonly number[];

  beforeAll(async () => void (stack = await Stack.open(road)));
  afterAll(() => stack[Symbol.asyncDispose]());

  beforeEach(async () => {
    stack.model.requests.length = 0;
    before = stack.services.map((service) => service.output().length);
    codex = await stack.codex();
  });

  afterEach(async () => {
    await codex[Symbol.asyncDispose]();
    expect(codex.strayed).toEqual([]);
  });

  /** That every service served so many turns, all in one connection or none in any, after Codex's warm-up if there is one. */
  async function expectTurns(count: number): Promise<void> {
    const { supportsWebsockets } = road;
    for (const [index, service] of stack.services.entries()) {
      const hasWarmUp = supportsWebsockets && index === 0;
      const turns = await turnsOf(service, count + Number(hasWarmUp), before[index]);
      expect(turns.map(({ status }) => status)).toEqual(Array(count + Number(hasWarmUp)).fill('completed'));
      const connections = new Set(turns.map(({ connection }) => connection));
      expect(connections.size).toBe(1);
      expect(connections.has(null)).toBe(!supportsWebsockets);
    }
    expect(stack.model.requests).toHaveLength(count);
  }

  it('Codex gets a plain answer', async () => {
    stack.model.answer({ text: ['Hel', 'lo.'] });
    const run = await codex.exec('Say hello.');
    expect(run).toMatchObject({ code: 0 });
    expect(messagesIn(run)).toEqual(['Hello.']);
    expect(stack.lastRequest.body.messages?.at(-1)).toMatchObject({ role: 'user', content: 'Say hello.' });
    await expectTurns(1);
  });

  it('Codex runs a tool', async () => {
    await writeFile(join(codex.work, 'note.txt'), 'The harbor is closed.');
    stack.model.answer({ toolCalls: [toCall('cat note.txt')] }).answer({ text: 'It is closed.' });
    const run = await codex.exec('What says the note?');
    expect(run).toMatchObject({ code: 0 });
    expect(run.events).toContainEqual(toExecution('The harbor is closed.'));
    expect(messagesIn(run)).toEqual(['It is closed.']);
    const output: unknown = expect.stringContaining('The harbor is closed.');
    expect(stack.lastRequest.body.messages?.at(-1)).toMatchObject({ role: 'tool', content: output });
    await expectTurns(2);
  });

  it('Codex runs three tools, one after another', async () => {
    const steps = ['one', 'two', 'three'];
    for (const step of steps) stack.model.answer({ toolCalls: [toCall(`echo ${step} >> steps; cat steps`)] });
    stack.model.answer({ text: 'Done.' });
    const earlier = await stack.sent();
    const run = await codex.exec('Take three steps.');
    expect(run).toMatchObject({ code: 0 });
    expect(run.events).toContainEqual(toExecution('one\ntwo\nthree\n'));
    expect(messagesIn(run)).toEqual(['Done.']);
    const tools = stack.lastRequest.body.messages?.filter(({ role }) => role === 'tool');
    expect(tools).toHaveLength(3);
    await expectTurns(4);
    // Between services, only the first request holds the whole context.
    const { whole, incremental } = await stack.sent();
    expect([whole - earlier.whole, incremental - earlier.incremental]).toEqual(road.services === 2 ? [1, 3] : [0, 0]);
  });

  it('Codex gets data of the schema that it asks for', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    await writeFile(join(codex.work, 'schema.json'), JSON.stringify(schema));
    stack.model.answer({ text: '{"city":"Lisbon"}' });
    const run = await codex.exec('Name a city.', '--output-schema', 'schema.json');
    expect(run).toMatchObject({ code: 0 });
    expect(messagesIn(run)).toEqual(['{"city":"Lisbon"}']);
    expect(stack.lastRequest.body['response_format']).toMatchObject({ type: 'json_schema', json_schema: { schema } });
    await expectTurns(1);
  });

  it('Codex shows an image', async () => {
    await writeFile(join(codex.work, 'pixel.png'), Buffer.from(PIXEL, 'base64'));
    stack.model.answer({ text: 'A pixel.' });
    const run = await codex.exec('Describe it.', '-i', 'pixel.png');
    expect(run).toMatchObject({ code: 0 });
    const url: unknown = expect.stringMatching(/^data:image\/png;base64,iVBOR/);
    const part: unknown = expect.objectContaining({ type: 'image_url', image_url: expect.objectContaining({ url }) });
    expect(stack.lastRequest.body.messages?.at(-1)?.['content']).toContainEqual(part);
    await expectTurns(1);
  });

  it('Codex resumes a session', async () => {
    stack.model.answer({ text: 'Hello, Ada.' });
    const run = codex.begin('My name is Ada.');
    const session = await run.session;
    expect(await run.ended).toMatchObject({ code: 0 });
    await expectTurns(1);

    before = stack.services.map((service) => service.output().length);
    stack.model.answer({ text: 'Ada.' });
    const resumed = await codex.exec('resume', session, 'What is my name?');
    expect(resumed).toMatchObject({ code: 0 });
    expect(messagesIn(resumed)).toEqual(['Ada.']);
    const said = stack.lastRequest.body.messages?.slice(-3).map(({ content }) => content);
    expect(said).toEqual(['My name is Ada.', 'Hello, Ada.', 'What is my name?']);
    stack.model.requests.shift();
    await expectTurns(1);
  });

  it('Codex resumes a session that was killed in the middle of an answer', async () => {
    stack.model.hold().answer({ text: ['Once', ' upon', ' a time'] });
    const run = codex.begin('Tell me a story.');
    const session = await run.session;
    const request = await stack.model.received();
    stack.model.release(2);
    run.kill();
    expect(await run.ended).toMatchObject({ code: null });
    // No service lets the model write on for nobody.
    await request.closed;

    stack.model.release();
    stack.model.answer({ text: 'The end.' });
    const resumed = await codex.exec('resume', session, 'Again.');
    expect(resumed).toMatchObject({ code: 0 });
    expect(messagesIn(resumed)).toEqual(['The end.']);
    const said = stack.lastRequest.body.messages?.map(({ content }) => content);
    expect(said).toEqual(expect.arrayContaining(['Tell me a story.', 'Again.']));
  });
});

const toCall = (cmd: string): { readonly name: string; readonly arguments: string } => ({
  name: 'exec_command',
  arguments: JSON.stringify({ cmd }),
});

const toExecution = (output: string): unknown =>
  expect.objectContaining({
    type: 'item.completed',
    item: expect.objectContaining({ type: 'command_execution', aggregated_output: output, exit_code: 0 }) as unknown,
  });
