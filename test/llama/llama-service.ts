import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type OpenAI from 'openai';

import { checkEventOrder, type WireEvent } from '../../src/testing/index.js';
import { SLOW_REFUSALS, startService } from '../support/service.js';
import { type LlamaServer, MODEL, startLlamaServer } from './llama-server.js';

/** A request, with members that are handed on to llama.cpp. */
export type LlamaRequest = Omit<OpenAI.Responses.ResponseCreateParams, 'stream'> & {
  readonly seed?: number;
  /** Goes on where the model would end. */
  readonly ignore_eos?: boolean;
  /** Reads what the server has read before from its cache. */
  readonly cache_prompt?: boolean;
};

const BASE = { model: MODEL, reasoning: { effort: 'none' } } as const;

/** The service in front of a llama.cpp server. */
export interface LlamaService {
  readonly llama: LlamaServer;
  readonly client: OpenAI;
  /** Asks the model, without reasoning unless the request says otherwise, for a whole response. */
  ask(request: LlamaRequest): Promise<OpenAI.Responses.Response>;
  /** The same as a stream, to its end; its events have passed the checker. */
  stream(request: LlamaRequest): Promise<readonly OpenAI.Responses.ResponseStreamEvent[]>;
  close(): Promise<void>;
}

/** Starts a llama.cpp server, and the service with a providers file in which it is the only one. */
export async function startLlamaService(program: string): Promise<LlamaService> {
  const llama = await startLlamaServer(program);
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-llama-service-'));
  const close = async (): Promise<void> => {
    await llama[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  };
  try {
    const file = join(directory, 'providers.json');
    const forward = ['seed', 'ignore_eos', 'cache_prompt'];
    const provider = { base_url: llama.baseUrl, dialect: 'llama.cpp', discover: true, forward };
    await writeFile(file, JSON.stringify({ providers: { llama: provider } }));
    const service = await startService({ environment: { ...SLOW_REFUSALS, PROVIDERS_FILE: file } });
    const client = service.client();
    return {
      llama,
      client,
      ask: (request) => client.responses.create({ ...BASE, ...request, stream: false }),
      stream: async (request) => {
        const events = await Array.fromAsync(await client.responses.create({ ...BASE, ...request, stream: true }));
        checkEventOrder(events as object as WireEvent[], { transport: 'sse' });
        return events;
      },
      close: async () => {
        await service.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
