import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe } from '@jest/globals';

import { findOnPath, startServer } from '../support/server-process.js';
import { requireRule } from '../../src/testing/events/rule.js';
import { onStablePort } from '../support/ports.js';
import { BUILT_LLAMA_SERVER } from './build-llama-server.js';
import { writeTinyModel } from './write-tiny-model.js';

/** What llama.cpp itself answers. */
export interface LlamaAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly finish: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** llama.cpp's server with the tiny model. */
export interface LlamaServer extends AsyncDisposable {
  readonly baseUrl: string;
  /** Asks it past the service. */
  chat(body: object): Promise<LlamaAnswer>;
  /** How many turns it is working at. */
  countRunning(): Promise<number>;
  /** How many tokens it has written since its start, of turns that are over. */
  countWritten(): Promise<number>;
}

/** The name under which it serves the tiny model. */
export const MODEL = 'tiny';
/** Tokens that fit into one turn. */
export const WINDOW = 8192;
const SLOTS = 4;

/** Tests with llama.cpp's server, given by its path. Where there is none they are skipped, and say so. */
export function describeWithLlamaServer(name: string, tests: (program: string) => void): void {
  const program = findLlamaServer();
  if (program !== undefined) {
    describe(name, () => tests(program));
    return;
  }
  const reason = 'there is no llama-server: `npm run llama` builds one, or LLAMA_SERVER says where it is';
  console.warn(`SKIPPED, since ${reason}: ${name}`);
  describe.skip(`${name} (skipped: ${reason})`, () => tests(''));
}

/** Starts llama.cpp's server on a free port of the loopback interface. What it writes depends on request and seed only. */
export async function startLlamaServer(program: string): Promise<LlamaServer> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-llama-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const run = async (port: number): Promise<LlamaServer> => {
    const server = await startServer(
      program,
      argumentsFor(port),
      { cwd: directory, account: undefined },
      /listening on/,
    );
    const origin = `http://127.0.0.1:${port}`;
    await get(`${origin}/health`);
    return {
      baseUrl: `${origin}/v1`,
      chat: (body) => chat(origin, body),
      countRunning: async () => Number(await readMetric(origin, 'requests_processing')),
      countWritten: async () => Number(await readMetric(origin, 'tokens_predicted_total')),
      [Symbol.asyncDispose]: async () => {
        await server.end('SIGINT');
        await remove();
      },
    };
  };
  try {
    await writeTinyModel(join(directory, 'tiny.gguf'));
    return await onStablePort(run);
  } catch (error) {
    await remove();
    throw error;
  }
}

function findLlamaServer(): string | undefined {
  const { LLAMA_SERVER: named } = process.env;
  requireRule(named === undefined || existsSync(named), `LLAMA_SERVER must name a program, not '${named ?? ''}'`);
  return named ?? (existsSync(BUILT_LLAMA_SERVER) ? BUILT_LLAMA_SERVER : findOnPath('llama-server'));
}

function argumentsFor(port: number): readonly string[] {
  const options = {
    model: 'tiny.gguf',
    alias: MODEL,
    host: '127.0.0.1',
    port,
    'ctx-size': WINDOW * SLOTS,
    parallel: SLOTS,
    threads: 1,
    // Every token may be drawn, as likely as the model has it.
    temp: 1,
    'top-k': 0,
    'top-p': 1,
    'min-p': 0,
    seed: 1,
  };
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // What is read from the cache is rounded otherwise, and with it what is drawn.
  return [...values, '--no-cache-prompt', '--jinja', '--metrics', '--offline'];
}

async function chat(origin: string, body: object): Promise<LlamaAnswer> {
  const response = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
  requireRule(response.status === 200, `llama.cpp must answer, not ${response.status}`);
  const { choices, usage } = (await response.json()) as Completion;
  const [{ message, finish_reason: finish }] = choices;
  return {
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    finish,
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
  };
}

interface Completion {
  readonly choices: readonly [
    {
      readonly message: { readonly content: string | null; readonly reasoning_content?: string };
      readonly finish_reason: string;
    },
  ];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

async function readMetric(origin: string, name: string): Promise<string> {
  const metrics = await get(`${origin}/metrics`);
  const [, value] = new RegExp(`^llamacpp:${name} (.+)$`, 'm').exec(metrics) ?? [];
  requireRule(value !== undefined, `llama.cpp must count ${name}`);
  return value;
}

async function get(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  requireRule(response.status === 200, `llama.cpp must answer ${url}, not ${response.status}: ${text}`);
  return text;
}
