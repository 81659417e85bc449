// Slow: starts the built service as several processes, and ends them.

import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';

import {
  createResponse,
  deleteResponse,
  eventsOf,
  expectSameAfterEvery,
  expectWhole,
  follow,
  getResponse,
  readWhole,
} from '../support/background/background-client.js';
import { openModels } from '../support/background/held-models.js';
import { countLeftovers, loseWorkers, NOTHING_LEFT } from './job-table.js';
import { createTestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startProcess, startProgram } from '../support/process-service.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const PROGRAM = fileURLToPath(new URL('./tool-program.ts', import.meta.url));
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const NEVER = '600000';
/** After so many a turn fails: the last but one meets what was taken over already. */
const ATTEMPTS = 3;
/** Those after which a turn goes on. */
const KILLS = [1, 2];

afterEach(endProcesses);

describe('a worker that is killed again and again', () => {
  it('a worker that is killed again and again loses no turn: in a text, in a call, and between passes; one that always kills it fails', async () => {
    await using database = await createTestDatabase();
    await using models = await openModels('text', 'call', 'tool', 'deadly');
    await using tool = await WebhookReceiver.open();
    await using hooks = await WebhookReceiver.open();
    const { upstreams } = models;
    const environment = {
      STATE: 'postgres',
      DATABASE_URL: database.url,
      PROVIDERS_FILE: models.providersFile,
      LOG_LEVEL: 'error',
      SSE_KEEPALIVE_MS: NEVER,
      TOOL_URL: tool.url,
      WEBHOOK_URL: hooks.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_LOOPBACK: 'true',
      BACKGROUND_MAX_ATTEMPTS: String(ATTEMPTS),
    };
    const startWorker = (): Promise<ServiceProcess> =>
      startProgram(PROGRAM, /the program listens on (\S+)/, environment);
    const cut = (after: number) => ({ breaks: { after, by: 'stall' } }) as const;
    upstreams.text.answer({ reasoning: ['Hmm', '.'], text: ['text 1', ' a', ' b', ' c', ' d'] }, cut(6));
    upstreams.tool.answer({ toolCalls: [{ name: 'look_up', arguments: ['{"word":', '"sun"}'] }] });
    for (const attempt of [...KILLS, ATTEMPTS]) {
      const pieces = [`deadly ${attempt}`, ' a', ' b', ' c', ' d'];
      upstreams.deadly.answer({ text: pieces }, cut(4));
      if (attempt === ATTEMPTS) continue;
      if (attempt > 1) upstreams.text.answer({ text: [`text ${attempt}`, ' a', ' b', ' c', ' d'] }, cut(4));
      const half = ['{"at":"', `call ${attempt}`, ' a', ' b', '"}'];
      upstreams.call.answer({ toolCalls: [{ name: 'look', arguments: half }] }, cut(5));
      // Its process dies before the tool has answered.
      tool.answers.push(() => undefined);
    }
    upstreams.text.answer({ text: ['text', ' whole'] });
    upstreams.call.answer({ toolCalls: [{ name: 'look', arguments: '{"at":"whole"}' }] });
    upstreams.tool.answer({ text: 'It shines.' });
    tool.answers.push((response) => void response.end('bright'));

    const [server, first] = await Promise.all([
      startProcess({ ...environment, BACKGROUND_MAX_RUNNING: '0' }),
      startWorker(),
    ]);
    let worker = first;
    const tools = ['look_up', 'look'].map((name) => ({ type: 'function', name, parameters: null, strict: false }));
    // The creator of one is connected to the process that dies. Its session is locked by each process that runs it.
    const session = { 'x-session-id': 'the-session' };
    const creator = await first.client.stream({ model: 'text', background: true }, session);
    const ids = {
      text: eventsOf(await creator.until('event: response.queued')).map(
        ({ response }) => (response as { readonly id: string }).id,
      )[0] as string,
      call: (await createResponse(server, { model: 'call', tools })).id,
      tool: (await createResponse(server, { model: 'tool', tools })).id,
      deadly: (await createResponse(server, { model: 'deadly' })).id,
    };
    const [text, call, toolStream, deadly] = await Promise.all([
      follow(server, ids.text),
      follow(server, ids.call),
      follow(server, ids.tool),
      follow(server, ids.deadly),
    ]);

    for (const attempt of KILLS) {
      await Promise.all([
        text.until(`text ${attempt}`),
        call.until(`call ${attempt}`),
        deadly.until(`deadly ${attempt}`),
      ]);
      while (tool.received.length < attempt) await tool.next;
      await toolStream.until('event: response.output_item.done');
      const shown = await Promise.all(Object.values(ids).map((id) => getResponse(server, id)));
      expect(shown).toMatchObject([
        { status: 'in_progress', output: [{ type: 'reasoning', status: 'completed' }] },
        { status: 'in_progress', output: [] },
        { status: 'in_progress', output: [{ type: 'function_call', name: 'look_up', status: 'completed' }] },
        { status: 'in_progress', output: [] },
      ]);
      const next = await startWorker();
      worker.kill('SIGKILL');
      await worker.exited;
      await loseWorkers(database);
      worker = next;
    }
    // None is asked again that had ended.
    expect(upstreams.tool.requests.length).toBeLessThanOrEqual(2);
    const wholes = await Promise.all([text.whole, call.whole, toolStream.whole]);

    const [textEnd, callEnd, toolEnd] = await Promise.all(
      [ids.text, ids.call, ids.tool].map((id, index) => expectWhole(server, id, wholes[index] ?? '')),
    );
    expect(textEnd).toMatchObject({
      status: 'completed',
      output: [{ type: 'reasoning' }, { type: 'message', content: [{ text: 'text whole' }] }],
    });
    expect(callEnd).toMatchObject({
      status: 'completed',
      output: [{ type: 'function_call', arguments: '{"at":"whole"}', status: 'completed' }],
    });
    expect(toolEnd).toMatchObject({
      status: 'completed',
      output: [{ type: 'function_call' }, { type: 'message', content: [{ text: 'It shines.' }] }],
      usage: { input_tokens: 22, output_tokens: 14 },
    });
    expect(tool.received).toHaveLength(ATTEMPTS);
    // The creator got the beginning of the same stream until its process died.
    const got = await creator.whole.catch(() => creator.until('text 1'));
    expect(wholes[0].startsWith(got)).toBe(true);

    await deadly.until(`deadly ${ATTEMPTS}`);
    const last = await startWorker();
    worker.kill('SIGKILL');
    await loseWorkers(database);
    const failed = await expectWhole(server, ids.deadly, await deadly.whole);
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    // What the last process had of it, and of those before none.
    expect(failed.output).toMatchObject([
      { status: 'incomplete', content: [{ text: expect.stringContaining(`deadly ${ATTEMPTS}`) }] },
    ]);
    expect(upstreams.deadly.requests).toHaveLength(ATTEMPTS);

    for (const id of [ids.text, ids.call, ids.tool]) await readWhole(last, id);
    await Promise.all(
      [0, 1, 2].map((index) =>
        expectSameAfterEvery([server, last], Object.values(ids)[index] as string, wholes[index] ?? ''),
      ),
    );

    while (hooks.received.length < 4) await hooks.next;
    const told = hooks.received.map(({ body }) => JSON.parse(body) as { type: string; data: { id: string } });
    expect(told.map(({ type, data }) => [type, data.id]).sort()).toEqual(
      [
        ['response.completed', ids.text],
        ['response.completed', ids.call],
        ['response.completed', ids.tool],
        ['response.failed', ids.deadly],
      ].sort(),
    );
    for (const id of Object.values(ids)) await deleteResponse(server, id);
    last.kill('SIGTERM');
    await last.exited;
    expect(await countLeftovers(database)).toEqual(NOTHING_LEFT);
  });
});
