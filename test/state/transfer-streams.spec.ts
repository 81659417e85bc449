import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { exportState, importState, StateTransferError } from '../../src/state/index.js';
import { exported, imported, ONE } from '../../src/testing/state/moved-state.js';
import { append, message } from '../../src/testing/state/records.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { openPostgres } from './postgres-fixture.js';

const RESPONSES = 500;
const TEXT = 'x'.repeat(10_000);

async function openMemory(): Promise<OpenedBackend> {
  const memory = BACKENDS.find(({ name }) => name === 'memory');
  if (memory === undefined) throw new Error('there is no backend in memory');
  return memory.open();
}

async function openFull(): Promise<OpenedBackend> {
  const opened = await openMemory();
  for (let index = 0; index < RESPONSES; index += 1) {
    await append(opened.backend.responses, ONE, `r${index + 1000}`, { input: [message(`m${index}`, TEXT)] });
  }
  return opened;
}

describe('a large state', () => {
  it('an export is read no faster than it is taken', async () => {
    await using source = await openFull();
    const output = new PassThrough();
    const done = exportState(source.backend, output);
    for (let turn = 0; turn < 1000; turn += 1) await setImmediate();
    expect(output.readableLength + output.writableLength).toBeLessThan(20 * TEXT.length);
    output.resume();
    expect(await done).toMatchObject({ responses: RESPONSES });
  });

  it('an import is taken no faster than it is stored', async () => {
    await using source = await openFull();
    await using target = await openMemory();
    const lines = (await exported(source.backend)).trimEnd().split('\n');
    const store = target.backend.responses;
    const missing: number[] = [];
    async function* input(): AsyncGenerator<string> {
      for (const [index, line] of lines.entries()) {
        // A response that was given 300 lines before must be stored by now.
        const given = index - 302;
        if (given >= 0 && (await store.get(ONE, `r${given + 1000}`)) === undefined) missing.push(given);
        yield `${line}\n`;
      }
    }
    await importState(target.backend, input());
    expect(missing).toEqual([]);
  });

  it('a move reports how far it is', async () => {
    await using source = await openMemory();
    for (let index = 0; index < 10_000; index += 1) {
      await append(source.backend.responses, ONE, `r${index}`, { input: [], output: [] });
    }
    const reports: unknown[] = [];
    const output = new PassThrough().resume();
    await exportState(source.backend, output, { onProgress: (moved) => reports.push(moved) });
    expect(reports).toEqual([{ tenants: 1, conversations: 0, responses: 10_000, files: 0, stores: 0, jobs: 0 }]);
  });

  it('an import may begin with a byte order mark', async () => {
    await using source = await openMemory();
    await append(source.backend.responses, ONE, 'a');
    await using target = await openMemory();
    await imported(target.backend, `\uFEFF${await exported(source.backend)}`, 1);
    expect(await target.backend.responses.chain(ONE, 'a')).toEqual(await source.backend.responses.chain(ONE, 'a'));
  });

  it('an import is stored as it is when the parts of the file are cut within characters', async () => {
    await using source = await openMemory();
    await append(source.backend.responses, ONE, 'a', { input: [message('m', '東京 𝔘 \u2028')] });
    await using target = await openMemory();
    await imported(target.backend, await exported(source.backend), 1);
    expect(await target.backend.responses.chain(ONE, 'a')).toEqual(await source.backend.responses.chain(ONE, 'a'));
  });
});

describe('an import that is not valid', () => {
  it.each<readonly [fault: string, input: string, line: RegExp]>([
    ['nothing', '', /^There is nothing to import: expected the output of antiphon export\.$/],
    ['another format', 'id,name\n', /^Line 1 does not say that this is an export: /],
    [
      'a newer version',
      '{"format":"antiphon-state","version":2}\n',
      /^The export has version 2 of the format, .* up to 1: /,
    ],
    [
      'broken JSON',
      '{"format":"antiphon-state","version":1}\n{"kind":\n',
      /^Line 2 is not valid: expected a JSON object\.$/,
    ],
    [
      'an unknown kind',
      '{"format":"antiphon-state","version":1}\n{"kind":"x"}\n',
      /^Line 2 is not valid: expected kind to be one of secret, /,
    ],
    [
      'a wrong member',
      '{"format":"antiphon-state","version":1}\n{"kind":"tenant","tenant":7}\n',
      /^Line 2 is not valid: tenant: expected tenant to be string, but got number\.$/,
    ],
    [
      'a wrong member of a list',
      '{"format":"antiphon-state","version":1}\n{"kind":"tenant","tenant":"t"}\n{"kind":"entries","conversationId":"c","version":1,"entries":[{"position":0,"isGiven":false,"item":{}}]}\n',
      /^Line 3 is not valid: entries: expected entries\[0\]\.item\.id to be string, but got nothing\.$/,
    ],
    [
      'a record without a tenant',
      '{"format":"antiphon-state","version":1}\n{"kind":"entries","conversationId":"c","version":1,"entries":[]}\n',
      /^Line 2 is not valid: no line before it names a tenant\.$/,
    ],
    ['no end', '{"format":"antiphon-state","version":1}\n', /^The export is not whole: it ends with line 1\. /],
    [
      'more than the end',
      '{"format":"antiphon-state","version":1}\n{"kind":"end"}\n{"kind":"end"}\n',
      /^Line 3 follows the end/,
    ],
  ])('an import of %s is refused in one sentence', async (_, input, line) => {
    await using target = await openMemory();
    await expect(importState(target.backend, Readable.from([input]))).rejects.toMatchObject({
      name: StateTransferError.name,
      message: expect.stringMatching(line),
    });
  });
});

describe('an export of postgres', () => {
  it('an export of PostgreSQL refuses a tenant that is only known by a digest, unless it is named', async () => {
    await using opened = await openPostgres();
    await append(opened.backend.responses, asTenant('t'.repeat(300)), 'a');
    await expect(exported(opened.backend)).rejects.toThrow('a tenant whose name it stores only as a digest');
  });
});
