import { hash } from 'node:crypto';

import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Logger } from '@nestjs/common';
import type * as OpenAI from 'openai/resources/responses/responses';

import { quote } from '../../logging/index.js';
import { type Clock, untilAborted } from '../../time/index.js';
import { McpFailure } from './failures.js';
import type { McpObserver } from './mcp-observer.js';
import {
  type McpApproval,
  type McpCallOptions,
  type McpOutcome,
  type McpServer,
  type McpToolInfo,
  toOutput,
} from './mcp-server.js';
import type { RequestSlots } from './request-slots.js';
import {
  ServerToolError,
  type ServerToolHandler,
  type ServerToolOptions,
  type ServerToolResult,
} from './server-tool.js';
import { DEFAULTS } from './servers-file.js';
import type { ToolInput } from './tool-input.js';

/** A tool of the program. */
export interface OwnTool {
  readonly options: ServerToolOptions;
  readonly input: ToolInput;
  /** The method, bound to its provider. */
  readonly handle: ServerToolHandler<unknown>;
}

/** What an OwnServer consists of. */
export interface OwnServerParts {
  readonly label: string;
  readonly description: string | null;
  readonly tenant: string;
  /** By name. */
  readonly tools: ReadonlyMap<string, OwnTool>;
  /** When the tools were found, Unix ms: a list from before may be one of another version of the program. */
  readonly foundAtMs: number;
  /** Shared by all calls of the server. */
  readonly slots: RequestSlots;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: McpObserver | null;
}

/** Tools of the program as a server in this process: with the limits of others, and what they throw as outcomes. */
export class OwnServer implements McpServer {
  readonly label: string;
  readonly description: string | null;

  constructor(private readonly parts: OwnServerParts) {
    const { label, description } = parts;
    this.label = label;
    this.description = description;
  }

  get identity(): string {
    return hash('sha256', JSON.stringify([this.label]), 'base64url');
  }

  offers(name: string): boolean {
    return this.parts.tools.has(name);
  }

  approvalOf(tool: McpToolInfo | string): McpApproval {
    const own = this.parts.tools.get(typeof tool === 'string' ? tool : tool.name);
    return own?.options.requireApproval === true ? 'always' : 'never';
  }

  isStale(listedAtMs: number): boolean {
    return listedAtMs < this.parts.foundAtMs;
  }

  async list(): Promise<readonly McpToolInfo[]> {
    this.report('list', null, 'ok', this.parts.clock.now());
    return [...this.parts.tools.values()].map(({ options, input }) => ({
      name: options.name,
      description: options.description,
      input_schema: input.schema,
      annotations: options.annotations ?? null,
    }));
  }

  async call(name: string, args: Readonly<Record<string, unknown>>, options: McpCallOptions): Promise<McpOutcome> {
    const tool = this.parts.tools.get(name);
    if (tool === undefined) return { error: toToolError('There is no such tool.') };
    const { clock, logger } = this.parts;
    const startedAt = clock.now();
    const what = `${quote(this.label)}: the call of ${quote(name)}`;
    try {
      const result = await this.run(tool, args, options);
      this.report('call', name, 'error' in result ? 'tool_error' : 'ok', startedAt);
      if ('error' in result) logger.log(`${what} ended with an error of the tool`);
      return result;
    } catch (error) {
      if (options.signal.aborted) {
        this.report('call', name, 'aborted', startedAt);
        throw options.signal.reason;
      }
      if (error instanceof McpFailure) {
        this.report('call', name, error.kind, startedAt);
        logger.warn(`${what} failed: ${error.message}`);
        return { error: error.toCallError(error.message) };
      }
      this.report('call', name, 'tool_error', startedAt);
      const isMeant = error instanceof ServerToolError;
      if (isMeant) logger.log(`${what} ended with an error of the tool`);
      else logger.error(`${what} threw an error`, error instanceof Error ? error.stack : String(error));
      return { error: toToolError(isMeant ? error.message : 'The tool has failed.') };
    }
  }

  /** Calls a handler within its time. Rejects with what it throws, McpFailure, and the reason of the signal. */
  private async run(
    { options, input, handle }: OwnTool,
    args: Readonly<Record<string, unknown>>,
    { signal, onProgress, responseId }: McpCallOptions,
  ): Promise<McpOutcome> {
    const { clock, slots, tenant } = this.parts;
    const limitMs = options.timeoutMs ?? DEFAULTS.callMs;
    const late = new AbortController();
    const timer = clock.schedule(limitMs, () =>
      late.abort(new McpFailure('timeout', `The tool did not answer within ${limitMs} ms.`)),
    );
    const limited = AbortSignal.any([signal, late.signal]);
    const progress: NonNullable<McpCallOptions['onProgress']> = (done) => {
      if (limited.aborted) return;
      timer.refresh();
      onProgress?.(done);
    };
    try {
      const waiting = slots.take(limited);
      if (waiting !== undefined) await waiting;
      const work = async (): Promise<ServerToolResult> =>
        handle(await input.read(args), { tenant, responseId: responseId ?? null, signal: limited, progress });
      // A handler that ignores the signal is not waited for.
      return toOutcome(await untilAborted(work(), limited).finally(() => slots.free()));
    } catch (error) {
      // A handler that heeds the signal may say in its own words that it has stopped.
      throw late.signal.aborted ? late.signal.reason : error;
    } finally {
      timer.cancel();
    }
  }

  private report(kind: 'call' | 'list', tool: string | null, outcome: string, startedAt: number): void {
    const { clock, label, observer } = this.parts;
    observer?.ended({ server: label, kind, tool, outcome, durationMs: clock.now() - startedAt });
  }
}

/** Not every tool is written in TypeScript. */
function toOutcome(result: ServerToolResult): McpOutcome {
  if (typeof result === 'string') return { output: result };
  if (!Array.isArray((result as Partial<typeof result> | null | undefined)?.content)) {
    throw new TypeError('a tool must return a text, or an object with a list `content`');
  }
  // Copied as JSON: nobody changes later what a response has.
  const copy = JSON.parse(JSON.stringify(result)) as CallToolResult;
  if (copy.isError === true) return { error: { type: 'mcp_tool_execution_error', content: copy.content } };
  return { output: toOutput(copy) };
}

function toToolError(text: string): OpenAI.McpToolCallError {
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] };
}
