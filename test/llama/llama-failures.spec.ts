import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { closed } from '../support/simulator-requests.js';
import { describeWithLlamaServer, MODEL, WINDOW } from './llama-server.js';
import { type LlamaService, startLlamaService } from './llama-service.js';

describeWithLlamaServer('what goes wrong with llama.cpp', (program) => {
  let running: LlamaService;

  beforeAll(async () => {
    running = await startLlamaService(program);
  });

  afterAll(() => running.close());

  it.each([true, false])('llama.cpp gives its slot back when the client leaves (stream: %s)', async (isStream) => {
    const { client, llama } = running;
    /** How much is written for a client that leaves as soon as something is. */
    const leave = async (): Promise<number> => {
      const before = await llama.countWritten();
      const leaving = new AbortController();
      // Would go on until the window is full.
      const asked = { model: MODEL, input: 'Never stop.', ignore_eos: true, stream: isStream };
      const answer = Promise.resolve(client.responses.create(asked, { signal: leaving.signal }));
      while ((await llama.countRunning()) === 0 && (await llama.countWritten()) === before);
      leaving.abort();
      await answer.catch(() => undefined);
      while ((await llama.countRunning()) > 0);
      return (await llama.countWritten()) - before;
    };
    let written = await leave();
    // Of a machine that stood still meanwhile, it may be all.
    for (let again = 0; written >= WINDOW / 2 && again < 20; again += 1) written = await leave();
    expect(written).toBeLessThan(WINDOW / 2);
  });

  // A byte is a token here, so the service's own estimate is far below what llama.cpp counts.
  const tooLong = 'hello '.repeat(WINDOW / 4);

  it.each([true, false])('llama.cpp says that a conversation is too long (stream: %s)', async (isStream) => {
    const asked = { model: MODEL, input: tooLong, stream: isStream };
    await expect(running.client.responses.create(asked)).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
    });
  });

  it('llama.cpp is given the latest of a conversation that is too long, where the client wants that', async () => {
    // Four bytes each, and as many tokens for the service as for llama.cpp.
    const input = ['\u{10fff0}', '\u{10fff1}', '\u{10fff2}'].map((character) => user(character.repeat(WINDOW / 8)));
    const request = { input, truncation: 'auto' as const, max_output_tokens: 16 };
    const response = await running.ask(request);
    const own = await running.llama.chat({ messages: input.slice(2), reasoning_effort: 'none', max_tokens: 1 });
    expect(response.usage?.input_tokens).toBe(own.inputTokens);
  });

  it('llama.cpp ends incomplete where the window is full', async () => {
    const input = 'x'.repeat(WINDOW - 100);
    const events = await running.stream({ input, ignore_eos: true });
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' }, usage: { total_tokens: WINDOW } },
    });
  });

  it('llama.cpp refuses an image for a model that reads text only, as its list of models says', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' } as const;
    await expect(running.ask({ input: [{ role: 'user', content: [image] }] })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_value',
      message: expect.stringContaining('This model does not support images.'),
    });
  });

  // Its grammar has the model write a quote in the middle of a string, and its parser then refuses what was written.
  it('llama.cpp fails a response that it breaks off in the middle', async () => {
    const schema = closed({ quote: { type: 'string', pattern: '^"$' } }) as Record<string, unknown>;
    const format = { type: 'json_schema' as const, name: 'quote', schema, strict: true };
    const events = await running.stream({ input: 'Quote.', text: { format } });
    expect(events.map(({ type }) => type)).toContain('response.output_text.delta');
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    });
  });

  it('the service refuses what llama.cpp has no way to read, and serves the next turn', async () => {
    const tools = [{ type: 'function' as const, name: 'run', parameters: {}, strict: false }];
    await expect(running.ask({ input: 'Hi', include: ['message.output_text.logprobs'], tools })).rejects.toMatchObject({
      status: 400,
    });
    const events = await running.stream({ input: 'Hi', seed: 1 });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
  });
});

function user(content: string): { readonly role: 'user'; readonly content: string } {
  return { role: 'user', content };
}
