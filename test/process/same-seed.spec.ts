import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { endProcesses, startProcess } from '../support/process-service.js';

const parameters = { type: 'object', properties: { words: { type: 'array', minItems: 4, items: { type: 'string' } } } };

/** Requests whose answers hold what is drawn by lot: words, arguments, log probabilities, thoughts and padding. */
const BODIES: readonly object[] = [
  { model: 'gpt-4.1', input: 'Tell me a story.' },
  { model: 'o3', input: 'Think.', reasoning: { effort: 'low', summary: 'auto' } },
  { model: 'gpt-4.1', input: 'Go on.', include: ['message.output_text.logprobs'], top_logprobs: 3 },
  {
    model: 'gpt-4.1',
    input: 'Act.',
    tools: [{ type: 'function', name: 'act', parameters: { ...parameters, required: ['words'] } }],
  },
];

/** The bytes of all answers, ids and times aside; padding stays. */
async function runAll(seed: string): Promise<readonly string[]> {
  const { origin } = await startProcess({ SIMULATOR_SEED: seed });
  const texts: string[] = [];
  for (const body of BODIES) {
    const answer = await fetch(`${origin}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
    });
    texts.push(withoutIdsAndTimes(await answer.text()));
  }
  return texts;
}

function withoutIdsAndTimes(text: string): string {
  return text.replaceAll(/[a-z]+_[0-9a-f]{32}/g, 'id').replaceAll(/"(created|completed)_at":\d+/g, '"at":0');
}

describe('the simulator in two processes', () => {
  let first: readonly string[];

  beforeAll(async () => {
    first = await runAll('5');
  });

  afterAll(endProcesses);

  it('two processes send the same bytes for the same seed, padding included', async () => {
    expect(first.join('')).toContain('"obfuscation":"');
    await expect(runAll('5')).resolves.toEqual(first);
  });

  it('two processes send other bytes for another seed', async () => {
    const other = await runAll('6');
    for (const [index, text] of first.entries()) expect(other[index]).not.toBe(text);
  });
});
