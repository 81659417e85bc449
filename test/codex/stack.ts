import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import type { UpstreamRequest } from '../support/upstream-server.js';
import { type ServiceProcess, startProcess } from '../support/process-service.js';
import { requireRule } from '../../src/testing/events/rule.js';
import { onStablePort } from '../support/ports.js';
import { CodexCli, type CodexOptions } from './codex-cli.js';

/** How Codex reaches the model. */
export interface Road {
  readonly name: string;
  /** What Codex and an Antiphon before another one are told of the next server. */
  readonly supportsWebsockets: boolean;
  /** How many Antiphons stand in a row. */
  readonly services: 1 | 2;
  /** Variables of the services. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A turn as a service logs it. */
export interface LoggedTurn {
  readonly status: string;
  /** Its WebSocket; null over HTTP. */
  readonly connection: string | null;
}

type Variables = Readonly<Record<string, string>>;

/** A model that the test plays, and built services before it, of which Codex sees the first one. */
export class Stack implements AsyncDisposable {
  private constructor(
    readonly road: Road,
    /** The model, which gives an answer per request and remembers what it was asked. */
    readonly model: ChatUpstream,
    private readonly folder: string,
    private readonly hops: Hop[],
  ) {}

  /** Starts all of it. */
  static async open(road: Road): Promise<Stack> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-stack-'));
    const stack = new Stack(road, await ChatUpstream.start(), folder, []);
    const shared = { LOG_LEVEL: 'debug', WS_UPSTREAM_NOTICES: 'true', ...road.environment };
    await stack.add({ model: { base_url: stack.model.baseUrl } }, shared);
    for (let more = road.services; more > 1; more--) {
      const next = { kind: 'responses', base_url: stack.baseUrl, supports_websockets: road.supportsWebsockets };
      await stack.add({ model: next }, shared);
    }
    return stack;
  }

  /** What Codex is told to be the API. */
  get baseUrl(): string {
    return `${this.services[0].origin}/v1`;
  }

  /** The services, beginning with the one that Codex talks to. */
  get services(): readonly [ServiceProcess, ...ServiceProcess[]] {
    return this.hops.map(({ service }) => service) as [ServiceProcess, ...ServiceProcess[]];
  }

  /** A new Codex. */
  codex(options: Pick<CodexOptions, 'compactsFrom'> = {}): Promise<CodexCli> {
    return CodexCli.create(this.baseUrl, { ...this.road, ...options });
  }

  /** The last request to the model. Throws if there is none. */
  get lastRequest(): UpstreamRequest {
    const request = this.model.requests.at(-1);
    requireRule(request !== undefined, 'the model must have been asked');
    return request;
  }

  /** How many requests the first service has sent over WebSockets to the next one, by their form; none to the model. */
  async sent(): Promise<{ readonly whole: number; readonly incremental: number }> {
    const answer = await fetch(`${this.services[0].origin}/readyz?verbose`);
    const { providers } = (await answer.json()) as { readonly providers: readonly ReportedProvider[] };
    const { statistics = {} } = providers.find(({ name }) => name === 'model') ?? {};
    const { websocket_requests_whole: whole = 0, websocket_requests_incremental: incremental = 0 } = statistics;
    return { whole, incremental };
  }

  /** Kills the service next to the model, without a warning, and starts it again at the same address. */
  async restartLast(): Promise<void> {
    const last = await this.killLast();
    last.service = await startProcess(last.variables);
  }

  /** Kills the service next to the model, without a warning. */
  async killLast(): Promise<Hop> {
    const last = this.hops.at(-1) as Hop;
    last.service.kill('SIGKILL');
    await last.service.exited;
    return last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { service } of this.hops) service.kill('SIGKILL');
    await Promise.all(this.hops.map(({ service }) => service.exited));
    await this.model.close();
    await rm(this.folder, { recursive: true });
  }

  /** Starts a service before the others. */
  private async add(providers: Readonly<Record<'model', object>>, shared: Variables): Promise<void> {
    const file = join(this.folder, `providers-${this.hops.length}.json`);
    await writeFile(file, JSON.stringify({ providers, models: [{ default: true, provider: 'model' }] }));
    this.hops.unshift(
      await onStablePort(async (port) => {
        const variables = { ...shared, PROVIDERS_FILE: file, PORT: String(port) };
        return { variables, service: await startProcess(variables) };
      }),
    );
  }
}

/** What `/readyz?verbose` says of a provider. */
interface ReportedProvider {
  readonly name: string;
  readonly statistics?: Readonly<Record<string, number>>;
}

interface Hop {
  service: ServiceProcess;
  readonly variables: Variables;
}

/** The turns that a service has logged since it had written so much, once they are so many. */
export async function turnsOf(service: ServiceProcess, count: number, from = 0): Promise<readonly LoggedTurn[]> {
  await service.written((output) => linesIn(output.slice(from)).length >= count);
  return linesIn(service.output().slice(from));
}

function linesIn(output: string): readonly LoggedTurn[] {
  const lines = output.matchAll(/resp_\S+ (?<status>\w+).* tenant=\S+ request=\S+(?: connection=(?<connection>\S+))?/g);
  return Array.from(lines, ({ groups }) => ({
    status: String(groups?.['status']),
    connection: groups?.['connection'] ?? null,
  }));
}
