import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from '@jest/globals';

import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { JSON_TRANSPORT, SSE_TRANSPORT } from '../support/transports.js';

const FOLDER = join(import.meta.dirname, '../fixtures/dialects');
const ENDING = '.chunks.txt';
const CASES = readdirSync(FOLDER)
  .filter((name) => name.endsWith(ENDING))
  .map((name) => name.slice(0, -ENDING.length));

/** The vendors, and what a providers file calls them. */
const DIALECTS = {
  deepseek: 'deepseek',
  gemini: 'generic',
  groq: 'generic',
  'llama-cpp': 'llama.cpp',
  mistral: 'mistral',
  ollama: 'ollama',
  openai: 'openai',
  openrouter: 'openrouter',
  perplexity: 'generic',
  sglang: 'sglang',
  vllm: 'vllm',
} as const;

const VENDORS = Object.keys(DIALECTS);

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  strict: false,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { type: 'string' } },
    required: ['city'],
  },
};

describe('recorded dialects', () => {
  let upstream: ChatUpstream;
  const service = useService(async () => {
    upstream = await ChatUpstream.start();
    const providers = Object.entries(DIALECTS).map(([vendor, dialect]) => [
      vendor,
      { base_url: upstream.baseUrl, dialect },
    ]);
    const models = VENDORS.map((vendor) => ({ name: vendor, provider: vendor, model: `${vendor}-model` }));
    return startChatService({ upstream, models, providersBeside: Object.fromEntries(providers) as never });
  });

  afterAll(async () => {
    await upstream.close();
  });

  it('recorded dialects are of every vendor', () => {
    expect(new Set(CASES.map(vendorOf))).toEqual(new Set(VENDORS));
  });

  describe.each([JSON_TRANSPORT, SSE_TRANSPORT])('over $name', (transport) => {
    it.each(CASES)('a client sees the recorded answer %s as expected', async (name) => {
      upstream.replay(readFixture(name, ENDING));
      await expectAnswer(name);
    });

    it.each(CASES)('%s in packets of seven bytes', async (name) => {
      upstream.replay(readFixture(name, ENDING), { packetBytes: 7 });
      await expectAnswer(name);
    });

    async function expectAnswer(name: string): Promise<void> {
      const { response } = await transport.run(service, { model: vendorOf(name), input: 'Go on.', tools: [WEATHER] });
      expect(response).toMatchObject(JSON.parse(readFixture(name, '.expected.json')) as object);
      expect(response).toMatchObject({ error: null, model: vendorOf(name) });
    }
  });
});

function vendorOf(name: string): string {
  return VENDORS.find((vendor) => name.startsWith(`${vendor}-`)) ?? name;
}

function readFixture(name: string, ending: string): string {
  return readFileSync(join(FOLDER, name + ending), 'utf8');
}
