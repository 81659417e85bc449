import { beforeEach, describe, expect, it } from '@jest/globals';
import { strToU8, zipSync } from 'fflate';
import { type APIError, toFile } from 'openai';

import { Documents } from '../../src/files/documents/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { scannedPdf } from '../support/scanned-pdf.js';

/** A PNG file of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('files in the input', () => {
  const environment = { API_KEYS: 'ada:test,eve:other', FILE_INPUT_MAX_BYTES: '1000', DOCUMENT_TIMEOUT_MS: '120000' };
  const service = useService({ providers: [ScriptedProvider], environment });

  beforeEach(() => {
    service.provider.takesFiles = true;
    service.provider.hasEyes = true;
  });

  const store = async (content: string | Buffer, name: string): Promise<string> => {
    const file = await toFile(Buffer.from(content), name);
    return (await service.client().files.create({ file, purpose: 'user_data' })).id;
  };

  async function ask(parts: readonly object[], more: object = {}, apiKey = 'test') {
    const input = [{ role: 'user', content: [...parts, { type: 'input_text', text: 'What is it?' }] }];
    const body = { model: 'scripted', input, ...more } as never;
    return (await service.client({ apiKey }).responses.create(body)) as { id: string };
  }

  /** The parts of all messages that the model was asked with last, but the questions. */
  const seen = (): readonly unknown[] =>
    (service.provider.turns.at(-1)?.context ?? [])
      .filter(({ role }) => role === 'user')
      .flatMap(({ content }) => (content as readonly { text?: string }[]).filter(({ text }) => text !== 'What is it?'));

  it('files in the input are handed on with their data', async () => {
    const [note, image] = [await store('Hello', 'note.txt'), await store(Buffer.from(PIXEL, 'base64'), 'dot.png')];
    const file_data = `data:text/plain;base64,${base64('Hi')}`;
    const given = { type: 'input_file', filename: 'given.txt', file_data };
    const parts = [
      { type: 'input_file', file_id: note },
      { type: 'input_image', file_id: image, detail: 'low' },
      given,
    ];
    const { id } = await ask(parts);
    const filled = [
      { type: 'input_file', filename: 'note.txt', file_data: `data:text/plain;base64,${base64('Hello')}` },
      { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'low' },
      given,
    ];
    expect(seen()).toEqual(filled);
    // What is stored has the ids.
    const { data } = await service.client().responses.inputItems.list(id);
    expect(data).toEqual([expect.objectContaining({ content: expect.arrayContaining(parts.slice(0, 2)) })]);
    // A response that continues it sees them as well, until they are deleted.
    await ask([], { previous_response_id: id });
    expect(seen()).toEqual(filled);
    await service.client().files.delete(note);
    await ask([], { previous_response_id: id });
    const text = `(There is no file with id '${note}': it was deleted, has expired or never was there.)`;
    const gone = { type: 'input_text', text };
    expect(seen()).toEqual([gone, ...filled.slice(1)]);
  });

  it('files in the input are text for a model that takes no files', async () => {
    service.provider.takesFiles = false;
    const code = await store('if (a < b) return;', 'a.swift');
    const file_data = `data:text/html;base64,${base64('<body><p>Only <b>this</b></p></body>')}`;
    await ask([
      { type: 'input_file', file_id: code },
      { type: 'input_file', filename: 'page.html', file_data },
    ]);
    expect(seen()).toEqual([
      { type: 'input_text', text: '<file name="a.swift" page="1">\nif (a < b) return;\n</file>' },
      { type: 'input_text', text: expect.stringContaining('Only **this**') },
    ]);
    const refused = { status: 400, code: 'invalid_value', param: 'input[0].content[0]' };
    const binary = { type: 'input_file', filename: 'a.bin', file_data: base64('\0\x01') };
    await expect(ask([binary])).rejects.toMatchObject(refused);
  });

  it('files in the input are text for such a model by the ends of their names, also those of office programs', async () => {
    service.provider.takesFiles = false;
    const text = '<office:text><text:p>Bees dance.</text:p></office:text>';
    await ask([
      { type: 'input_file', file_id: await store(Buffer.from(zipSync({ 'content.xml': strToU8(text) })), 'a.odt') },
    ]);
    expect(seen()).toEqual([{ type: 'input_text', text: '<file name="a.odt" page="1">\nBees dance.\n</file>' }]);
  });

  it('files in the input without text say so', async () => {
    service.provider.takesFiles = false;
    await ask([{ type: 'input_file', filename: 'a "b".txt', file_data: base64(' \n') }]);
    expect(seen()).toEqual([{ type: 'input_text', text: '("a \\"b\\".txt" has no text.)' }]);
  });

  it('files in the input are the images of their pages for a model that sees images, where they are scans', async () => {
    service.provider.takesFiles = false;
    const file_data = Buffer.from(scannedPdf(8, Buffer.alloc(128, 200))).toString('base64');
    const part = { type: 'input_file', filename: 'scan.pdf', file_data };
    await ask([part]);
    const image = { type: 'input_image', image_url: expect.stringContaining('data:image/png;base64,'), detail: 'auto' };
    expect(seen()).toEqual([
      { type: 'input_text', text: '<file name="scan.pdf" page="1"/>' },
      image,
      { type: 'input_text', text: '<file name="scan.pdf" page="2"/>' },
      image,
    ]);
    service.provider.hasEyes = false;
    await ask([part]);
    expect(seen()).toEqual([{ type: 'input_text', text: '("scan.pdf" has no text.)' }]);
  });

  it('files in the input are refused for a while where too many documents wait to be read', async () => {
    service.provider.takesFiles = false;
    const documents = service.app.get(Documents);
    const leave = new AbortController();
    const read = (text: string): Promise<unknown> => {
      const bytes = new TextEncoder().encode(text);
      const reading = documents.read({ bytes, contentType: 'text/html' }, { owner: 'ada', signal: leave.signal });
      return reading.catch(() => undefined);
    };
    // Two threads read for a minute or more, and half of the places to wait is for one tenant.
    const readings = Array.from({ length: 130 }, (_, index) =>
      read(index < 2 ? '<table><tr><td>'.repeat(100_000) : ''),
    );
    const part = { type: 'input_file', filename: 'a.txt', file_data: base64('Hi') };
    const refusal = (await ask([part]).catch((error: unknown) => error)) as APIError;
    expect(refusal).toMatchObject({ status: 503, code: 'server_is_overloaded' });
    expect(refusal.headers?.get('retry-after')).toBe('1');
    leave.abort();
    await Promise.all(readings);
  });

  it('files in the input count as tokens', async () => {
    const file_id = await store('word '.repeat(100), 'long.txt');
    service.provider.takesFiles = false;
    const count = async (content: object[]): Promise<number> => {
      const input = [{ role: 'user', content }] as never;
      return (await service.client().responses.inputTokens.count({ model: 'scripted', input })).input_tokens;
    };
    const text = { type: 'input_text', text: 'Hi' };
    expect(await count([text, { type: 'input_file', file_id }])).toBeGreaterThan((await count([text])) + 100);
  });

  it('files in the input are refused where they are not found, are no image, or are too large together', async () => {
    const file_id = await store('x'.repeat(600), 'a.txt');
    const file = { type: 'input_file', file_id };
    const refused = { status: 400, code: 'invalid_value', param: 'input[0].content[0]' };
    await expect(ask([file], {}, 'other')).rejects.toMatchObject(refused);
    await expect(ask([{ type: 'input_image', file_id }])).rejects.toMatchObject(refused);
    await expect(ask([file, file])).rejects.toMatchObject({ ...refused, param: 'input[0].content[1]' });
    // An id of another kind may be one of the upstream.
    const foreign = { type: 'input_file', file_id: 'file-abc' };
    await ask([foreign]);
    expect(seen()).toEqual([foreign]);
  });
});
