import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { TestTaker } from '../../../../test/support/test-sink.js';
import { openFixture } from './open-fixture.js';

async function readFixture(content: string, taker: TestTaker): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fixture-'));
  try {
    const path = join(folder, 'answer.sse');
    await writeFile(path, content);
    await (await openFixture(path)).read(taker);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('a fixture (§7)', () => {
  it('a fixture is read as an event stream', async () => {
    const taker = new TestTaker();
    await readFixture(
      ': comment\n\ndata: {"type":"a"}\n\nevent: x\ndata: {"type":"response.completed"}\n\ndata: {}\n\n',
      taker,
    );
    expect(taker.batches).toEqual([['{"type":"a"}', '{"type":"response.completed"}']]);
  });

  it('a fixture is read to its last event without the blank line after it', async () => {
    const taker = new TestTaker();
    await readFixture('data: {"type":"response.completed"}', taker);
    expect(taker.events).toEqual(['{"type":"response.completed"}']);
  });

  it('a fixture fails at its end if the answer is not over', async () => {
    const taker = new TestTaker();
    const reading = readFixture('data: {"type":"a"}\n\n', taker);
    await expect(reading).rejects.toMatchObject({
      message: 'stream closed before response.completed',
      remedy: 'retry',
    });
    expect(taker.events).toEqual(['{"type":"a"}']);
  });

  it('a fixture says in the log which file is missing', async () => {
    await expect(openFixture('/nowhere/answer.sse')).rejects.toMatchObject({
      name: 'UpstreamError',
      message: 'the fixture /nowhere/answer.sse cannot be read: ENOENT',
      remedy: 'none',
    });
  });
});
