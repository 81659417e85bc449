// Slow: runs the contract of providers for seven of them.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { AcmeProvider } from '../../examples/provider/acme.provider.js';
import { EchoProvider } from '../../examples/provider/echo.provider.js';
import { SimulatorModule } from '../../src/index.js';
import { sharedProviderContract } from '../../src/testing/contract/provider-contract.js';
import type { ProviderSubject, TurnRequest } from '../../src/testing/index.js';
import { ListeningProvider } from './listening.provider.js';
import { LocalServer } from '../support/local-server.js';
import { ChatSubject } from './provider-chat-subject.js';
import { ResponsesSubject } from './provider-responses-subject.js';

/** What it says when it fails; no client of ours may see it. */
const ACME_SECRET = 'the key sk-acme is known at http://acme.internal';

/** Questions that it does not simply answer. */
const ASK_TO_HANG = 'Say nothing more.';
const ASK_TO_FAIL = 'Fail.';

/** The made-up upstream of docs/extending-providers.md: it takes items and streams a plain text about them. */
class AcmeUpstream extends LocalServer {
  private hung = Promise.withResolvers<undefined>();
  private left = Promise.withResolvers<undefined>();

  constructor() {
    super(createServer({ keepAliveTimeout: 0 }, (request, response) => void this.answer(request, response)));
  }

  /** The next request that hangs: when it does, and when its client has gone. */
  nextHang(): { readonly reached: Promise<unknown>; readonly released: Promise<unknown> } {
    this.hung = Promise.withResolvers();
    this.left = Promise.withResolvers();
    return { reached: this.hung.promise, released: this.left.promise };
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (body.includes(ASK_TO_FAIL)) {
      response.writeHead(500).end(ACME_SECRET);
      return;
    }
    response.write('You said: ');
    if (body.includes(ASK_TO_HANG)) {
      response.once('close', () => this.left.resolve(undefined));
      this.hung.resolve(undefined);
      return;
    }
    response.end([...body.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join(' '));
  }
}

/** Ends what hangs: a busy machine is no fault of a provider. */
const PATIENCE_MS = 300_000;

const simulate = (what: string): TurnRequest => ({ body: { client_metadata: { 'x-simulate': what } } });

const simulator: ProviderSubject = {
  options: () => ({ imports: [SimulatorModule], environment: { SIMULATOR_CONTROL: true } }),
  model: 'simulator',
  deterministic: true,
  hanging: () => simulate('fault=stall; after=1; for=600000'),
  failing: simulate('fault=server_error'),
};

const scripted: ProviderSubject = {
  options: () => ({ providers: [ListeningProvider] }),
  model: 'any',
  deterministic: true,
};

const echo: ProviderSubject = { options: () => ({ providers: [EchoProvider] }), model: 'echo-1', deterministic: true };

const upstream = new AcmeUpstream();

const acme: ProviderSubject = {
  options: () => ({ providers: [AcmeProvider] }),
  model: 'acme-1',
  deterministic: true,
  hanging: () => ({ body: { input: ASK_TO_HANG }, ...upstream.nextHang() }),
  failing: { body: { input: ASK_TO_FAIL } },
  secrets: [ACME_SECRET, 'sk-acme'],
};

let chat: ChatSubject | undefined;

const chatCompletions = ChatSubject.describe(() => {
  if (chat === undefined) throw new Error('it has not been started');
  return chat;
});

const servers: ResponsesSubject[] = [];

/** A Responses server that is there while tests run, by its place in the list of those that are started. */
const responses = (position: number): ProviderSubject =>
  ResponsesSubject.describe(() => {
    const server = servers[position];
    if (server === undefined) throw new Error('it has not been started');
    return server;
  });

beforeAll(async () => {
  process.env['ACME_URL'] = (await upstream.listen()).origin;
  chat = await ChatSubject.start();
  servers.push(await ResponsesSubject.start({}), await ResponsesSubject.start({ supports_websockets: true }));
});

afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  await chat?.[Symbol.asyncDispose]();
  for (const server of servers) await server[Symbol.asyncDispose]();
});

describe.each([
  ['the simulator', simulator],
  ['a script', scripted],
  ['the provider of docs/extending-providers.md', acme],
  ['the provider of docs/how-to/write-a-provider.md', echo],
  ['any chat completions server', chatCompletions],
  ['any Responses server over SSE', responses(0)],
  ['any Responses server over WebSocket', responses(1)],
] as const)('%s as a provider', (_, subject) => {
  // provider-contract-faults.spec.ts has a service for each case, as programs do.
  const { cases, close } = sharedProviderContract({ ...subject, patienceMs: PATIENCE_MS });
  afterAll(close);
  for (const { name, run } of cases) it(name, run);

  it('the cases of a provider are called by names of their own', () => {
    const names = cases.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
