import type { Tool } from '@modelcontextprotocol/client';
import type { Logger } from '@nestjs/common';

import { quote } from '../../logging/index.js';
import { quotesKnownSecret, redact, redactDeeply, scrub } from '../../providers/index.js';
import type { Clock } from '../../time/index.js';
import type { McpConnection, ConnectionSettings } from './connection.js';
import { McpFailure, SessionGoneError } from './failures.js';
import type { McpObserver, McpRequestRecord } from './mcp-observer.js';
import {
  type McpApproval,
  type McpCallOptions,
  McpListError,
  type McpOutcome,
  type McpProgress,
  type McpServer,
  matchesFilter,
  type McpToolInfo,
  toOutput,
} from './mcp-server.js';
import type { ServerConnections } from './server-connections.js';
import type { McpServerEntry } from './servers-file.js';

/** The longest name of a tool, characters. */
const LONGEST_NAME = 128;

/** Tools of a list that are kept. */
const MOST_TOOLS = 2000;

/** Levels of the content of an error: it is written and checked level by level. */
const DEEPEST = 500;

/** What a CalledServer consists of. */
export interface CalledServerParts {
  readonly label: string;
  readonly description: string | null;
  readonly identity: string;
  /** The name in metrics. */
  readonly metricLabel: string;
  /** What the operator says of it; a server of a client has limits only. */
  readonly entry: McpServerEntry;
  readonly limits: { readonly listMs: number; readonly callMs: number; readonly listMaxAgeMs: number };
  readonly connections: ServerConnections;
  /** Names the tenant and the credentials. */
  readonly key: () => string;
  readonly settings: Omit<ConnectionSettings, 'onListChanged'>;
  /** The credentials of this moment: long ones, and the same list while they are the same. */
  readonly secrets: () => readonly string[];
  /** What clients must not see in messages, besides: where the operator's hosts are. */
  readonly hidden: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: McpObserver | null;
}

/** A server over its connections: with time limits, its failures as outcomes, and without its credentials in anything it says. */
export class CalledServer implements McpServer {
  readonly label: string;
  readonly description: string | null;
  /** The names of all tools of the latest list, also of those that are not offered. */
  listed: readonly string[] = [];
  private hashed: string | null = null;

  constructor(private readonly parts: CalledServerParts) {
    const { label, description } = parts;
    this.label = label;
    this.description = description;
  }

  get identity(): string {
    return this.parts.identity;
  }

  /** The tools that the operator's rules name, and the latest list does not have. */
  get unlisted(): readonly string[] {
    const { tools = [], require_approval: rule } = this.parts.entry;
    const filters = rule === undefined || typeof rule === 'string' ? [] : [rule.always, rule.never];
    const named = new Set([...tools, ...filters.flatMap((filter) => filter?.tool_names ?? [])]);
    return [...named].filter((name) => !this.listed.includes(name));
  }

  offers(name: string): boolean {
    return this.parts.entry.tools?.includes(name) ?? true;
  }

  approvalOf(tool: McpToolInfo | string): McpApproval | undefined {
    const { require_approval: rule } = this.parts.entry;
    if (rule === undefined || typeof rule === 'string') return rule;
    if (matchesFilter(rule.always, tool)) return 'always';
    return matchesFilter(rule.never, tool) ? 'never' : undefined;
  }

  isStale(listedAtMs: number): boolean {
    const { clock, connections, limits } = this.parts;
    return clock.now() - listedAtMs > limits.listMaxAgeMs || connections.listChangedAtMs >= listedAtMs;
  }

  async list(signal: AbortSignal): Promise<readonly McpToolInfo[]> {
    const { limits } = this.parts;
    try {
      return await this.request('list', null, limits.listMs, signal, async (connection, limited) => {
        const tools = await connection.list(limited);
        this.listed = tools.map(({ name }) => name);
        // What the operator does not offer takes no place.
        const offered = tools.filter(({ name }) => this.offers(name));
        const usable = offered.filter(({ name }) => name !== '' && name.length <= LONGEST_NAME).slice(0, MOST_TOOLS);
        this.noteLeftOut(offered.length - usable.length, offered.length);
        return this.withoutSecrets(usable.map(toInfo)) as readonly McpToolInfo[];
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new McpListError(this.label, this.clean((error as McpFailure).told), { cause: error });
    }
  }

  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal, onProgress }: McpCallOptions,
  ): Promise<McpOutcome> {
    const { limits } = this.parts;
    try {
      return await this.request('call', name, limits.callMs, signal, async (connection, limited, renew) => {
        const result = await connection.call(name, args, limited, (progress) => {
          renew();
          onProgress?.(this.withoutSecrets(progress) as McpProgress);
        });
        if (result.isError !== true) return { output: this.withoutSecrets(toOutput(result)) as string };
        if (isDeeper(result.content, DEEPEST))
          throw new McpFailure('protocol', 'The answer of the server is nested too deeply.');
        return { error: { type: 'mcp_tool_execution_error', content: this.withoutSecrets(result.content) } };
      });
    } catch (error) {
      signal.throwIfAborted();
      const failure = error as McpFailure;
      return { error: failure.toCallError(this.clean(failure.told)) };
    }
  }

  /**
   * Sends a request and reads its answer, within a time limit, again in a new session where the old one is forgotten. Tells the observer,
   * and the log of a failure. An answer that is nested too deeply counts as a failure. Rejects with McpFailure, and the
   * reason of the signal.
   */
  private async request<T extends McpOutcome | readonly McpToolInfo[]>(
    kind: McpRequestRecord['kind'],
    tool: string | null,
    limitMs: number,
    signal: AbortSignal,
    send: (connection: McpConnection, limited: AbortSignal, renew: () => void) => Promise<T>,
  ): Promise<T> {
    const { clock, connections, settings } = this.parts;
    const startedAt = clock.now();
    // Not AbortSignal.any, which takes longer than all the rest of this method.
    const stop = new AbortController();
    const limited = stop.signal;
    const stopWithTurn = (): void => stop.abort(signal.reason);
    if (signal.aborted) stopWithTurn();
    else signal.addEventListener('abort', stopWithTurn, { once: true });
    const timer = clock.schedule(limitMs, () =>
      stop.abort(new McpFailure('timeout', `The server did not answer within ${limitMs} ms.`)),
    );
    const attempt = (): Promise<T> =>
      connections.use(this.key, settings, limited, (connection) => send(connection, limited, () => timer.refresh()));
    const end = (outcome: string, failure?: McpFailure): void =>
      this.report({ kind, tool, outcome, durationMs: clock.now() - startedAt }, failure);
    try {
      let result: T;
      try {
        result = await attempt();
      } catch (error) {
        if (!(error instanceof SessionGoneError) || limited.aborted) throw error;
        result = await attempt();
      }
      end('error' in result ? 'tool_error' : 'ok');
      return result;
    } catch (error) {
      if (signal.aborted) {
        end('aborted');
        throw signal.reason;
      }
      const cause: unknown = limited.aborted ? limited.reason : error;
      const failure =
        cause instanceof McpFailure
          ? cause
          : new McpFailure('protocol', 'The answer of the server cannot be read.', undefined, { cause });
      end(failure.kind, failure);
      throw failure;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', stopWithTurn);
    }
  }

  private report(record: Omit<McpRequestRecord, 'server'>, failure: McpFailure | undefined): void {
    const { connections, logger, metricLabel, observer } = this.parts;
    const { outcome, tool } = record;
    observer?.ended({ server: metricLabel, ...record });
    const what = `${quote(this.label)}: ${tool === null ? 'the list of tools' : `the call of ${quote(tool)}`}`;
    // What a server says of a call may repeat its arguments, which are nobody's but the client's.
    if (failure !== undefined)
      logger.warn(`${what} failed: ${this.clean(tool === null ? failure.told : failure.message)}`);
    else if (outcome === 'tool_error') logger.log(`${what} ended with an error of the tool`);
    // An error of the protocol is an answer, too.
    if (outcome !== 'aborted')
      connections.error = failure && failure.kind !== 'protocol' ? this.clean(failure.message) : null;
  }

  /** Says in the log, once, that a list lacks tools. */
  private noteLeftOut(count: number, all: number): void {
    const { connections, logger } = this.parts;
    if (count > 0 && connections.leftOut !== count) {
      const limits = `it may have ${MOST_TOOLS}, with names of up to ${LONGEST_NAME} characters`;
      logger.warn(`${quote(this.label)}: ${count} of its ${all} tools are left out: ${limits}`);
    }
    connections.leftOut = count;
  }

  /** A message without credentials and addresses. */
  private clean(message: string): string {
    return scrub(message, [...this.parts.secrets(), ...this.parts.hidden]);
  }

  /** A value that a server has sent, without the credentials that it was sent. */
  private withoutSecrets(value: unknown): unknown {
    const secrets = this.parts.secrets();
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (secrets.length === 0 || !quotesKnownSecret(text, secrets)) return value;
    return typeof value === 'string' ? redact(value, secrets) : redactDeeply(value, secrets);
  }

  /** Whose connection it is: computed with the first request. */
  private get key(): string {
    return (this.hashed ??= this.parts.key());
  }
}

/** Whether a value has more levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function toInfo({ name, description, inputSchema, annotations }: Tool): McpToolInfo {
  return { name, description: description ?? null, input_schema: inputSchema, annotations: annotations ?? null };
}
