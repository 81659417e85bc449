// Slow: runs the contract of providers for six of them.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { SimulatorModule } from '../../src/index.js';
import { sharedProviderContract } from '../../src/testing/contract/provider-contract.js';
import type { ProviderSubject, TurnRequest } from '../../src/testing/index.js';
import { ACME_SECRET, AcmeUpstream, ASK_TO_FAIL, ASK_TO_HANG } from '../support/acme-upstream.js';
import { AcmeProvider } from '../../examples/provider/acme.provider.js';
import { ListeningProvider } from '../support/listening.provider.js';
import { ChatSubject } from './provider-chat-subject.js';
import { ResponsesSubject } from './provider-responses-subject.js';

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
  process.env['ACME_URL'] = await upstream.start();
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
  ['the provider of docs/extending.md', acme],
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
