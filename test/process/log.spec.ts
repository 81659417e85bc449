import { afterEach, describe, expect, it } from '@jest/globals';

import { closedPort } from '../support/chat-upstream/closed-port.js';
import { endProcesses, startProcess } from '../support/process-service.js';

const BIDI = '\u202e';
/** What a client may call a model to have its own line in the log. */
const FORGERY = `m\n[Antiphon] 1  - LOG forged\r\u001b[2K\u2028${BIDI}`;

afterEach(endProcesses);

describe('the log', () => {
  it.each(['text', 'json'])('cannot be forged by a client, as %s', async (LOG_FORMAT) => {
    const { client, written, exited, kill } = await startProcess({ LOG_FORMAT, LOG_LEVEL: 'debug' });
    const answer = await client.post(JSON.stringify({ model: FORGERY, input: 'Hi' }));
    const { id } = JSON.parse(answer.text) as { readonly id: string };
    await written(new RegExp(`${id} completed`));
    await client.post(JSON.stringify({ model: 'm', input: 'Hi', [FORGERY]: 1, text: { format: { type: FORGERY } } }));
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    const lines = (stdout + stderr).split('\n');
    expect(lines.filter((line) => line.includes(`${id} completed`))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('forged') && !/^(?:\[Nest\] \d+ |\{"level")/.test(line))).toEqual([]);
    expect(lines.find((line) => line.includes(id))).toMatch(
      /model=\\?"m\\+n\[Antiphon\] 1 {2}- LOG forged\\+r\\+u001b/,
    );
    expect(stdout + stderr).not.toMatch(/[\r\u001b\u2028\u202e]/);
  });

  it('counts a flood of refusals instead of writing it', async () => {
    const { client, written, output } = await startProcess();
    const answers = await Promise.all(Array.from({ length: 400 }, () => client.send({ path: '/v1/nothing' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    const writtenSoFar = (): number => output().match(/ 404 unknown_url /g)?.length ?? 0;
    const leftOut = (): number =>
      [...output().matchAll(/(\d+) more within a second/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    for (let count = 1; writtenSoFar() + leftOut() < 400; count += 1) {
      await written(new RegExp(`(?:more within a second[^]*){${count}}`));
    }
    expect(writtenSoFar() + leftOut()).toBe(400);
    expect(leftOut()).toBeGreaterThan(0);
  });

  it('says once that the database is away, however many requests fail', async () => {
    const port = await closedPort();
    const environment = { STATE: 'postgres', DATABASE_URL: `postgres://nobody:secret@127.0.0.1:${port}/none` };
    const { client, exited, kill } = await startProcess(environment);
    for (let count = 0; count < 50; count += 1) {
      expect(await client.send({ path: `/v1/responses/resp_${count}` })).toMatchObject({ status: 503 });
      expect(await client.post('{"model":"gpt-5","input":"Hi"}')).toMatchObject({ status: 503 });
    }
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    const lines = (stdout + stderr).split('\n').filter((line) => /request \S+ failed/.test(line));
    // One of reads, one of turns.
    expect(lines.length).toBeGreaterThanOrEqual(1);
    expect(lines.length).toBeLessThanOrEqual(4);
    expect(stdout + stderr).not.toMatch(/\n\s+at |secret| 503 /);
  });

  it('is silent about the assembly of the application', async () => {
    const { exited, kill } = await startProcess();
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    expect(stderr).toBe('');
    expect(stdout).not.toMatch(/Nest application|dependencies initialized|Mapped \{|RoutesResolver/);
  });
});
