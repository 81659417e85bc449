import { Logger } from '@nestjs/common';

import {
  addsTools,
  ApiError,
  creationTimeOf,
  type IdGenerator,
  type Item,
  itemIdPrefix,
  type Tool,
} from '../../protocol/index.js';
import type { ModelEvent, Turn } from '../../providers/index.js';
import { StateError } from '../../state/index.js';
import type { Clock } from '../../time/index.js';
import { WebSearchError } from '../../tools/web-search/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';
import type { FinishedPass, OwnPass, PassesLeft, TurnPolicy } from '../turn/pass-policy.js';
import { HeldCalls, type NoCalls, noCallsIn } from './held-calls.js';
import { FINISH, NO_TOKENS, reported, runCalls } from './run-calls.js';
import type { Sources } from './sources.js';
import { askWithFunctions } from './tool-choice.js';

/** Searches of one call. */
const MOST_QUERIES = 5;

const logger = new Logger('Tools');

/** A call of a function that stands for a tool. */
export interface HostedCall<Fn> {
  /** Of its item. */
  readonly id: string;
  readonly fn: Fn;
  /** Of the function that the model has called. */
  readonly name: string;
  /** JSON text, as the model has written it. */
  readonly given: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A tool that the service runs for models that know functions alone. Functions are named by what they are for. */
export interface HostedTool<Fn extends string, Outcome> {
  /** The type of the items that its calls become. */
  readonly itemType: string;
  /** What each function would be called; the client may have one of that name. */
  readonly functions: Readonly<Record<Fn, string>>;
  /** The function that a choice of the tool demands. */
  readonly chosen: Fn;
  readonly sources: Sources;
  /** Whether a tool of the request, or the choice of one, is this one. */
  isTool(tool: object): boolean;
  /** The functions for the model, by their names. */
  define(names: Readonly<Record<Fn, string>>): readonly Tool[];
  /** The events of a beginning. */
  open(call: HostedCall<Fn>): readonly ModelEvent[];
  /** Rejects for a call that has failed, and with the reason of the signal. */
  run(call: HostedCall<Fn>, pass: Pick<FinishedPass, 'signal' | 'caller'>): Promise<Outcome>;
  /** The outcome of a call that has failed. `reason` is for the model. */
  fail(call: HostedCall<Fn>, reason: string): Outcome;
  hasFailed(outcome: Outcome): boolean;
  /** The events of an end, with what the model reads of it. */
  close(call: HostedCall<Fn>, outcome: Outcome): readonly ModelEvent[];
}

/** How its calls are run. */
export interface HostedToolOptions {
  readonly ids: IdGenerator;
  readonly clock: Clock;
  /** Most calls at once. */
  readonly parallel: number;
  /** Longest silence of a model, ms; 0: no limit. */
  readonly idleMs: number;
}

/** A tool of the service in one turn. Its methods stand in the order in which they are called. */
export class HostedToolTurn<Fn extends string, Outcome> implements TurnPolicy {
  private readonly names: Readonly<Record<Fn, string>>;
  /** The calls that the model makes in its pass. */
  private held: HeldCalls<Fn>;

  constructor(
    private readonly tool: HostedTool<Fn, Outcome>,
    private readonly turn: Turn,
    private readonly options: HostedToolOptions,
  ) {
    const taken = new Set(objectsIn(turn.settings.tools).map(({ name }) => name));
    const free = (name: string): string => (taken.has(name) ? free(`${name}_`) : name);
    const named = Object.entries<string>(tool.functions).map(([fn, name]) => [fn, free(name)]);
    this.names = Object.fromEntries(named) as Record<Fn, string>;
    this.held = this.hold();
  }

  ask(question: Turn, left: PassesLeft): Turn {
    const { tool, names } = this;
    const noCalls = noCallsIn(left);
    this.held = this.hold(noCalls);
    tool.sources.learn(question.context);
    const isOffered = noCalls === null;
    const definitions = isOffered ? tool.define(names) : [];
    return askWithFunctions(question, {
      replace: (tools) => [...tools.filter((each) => !tool.isTool(each)), ...definitions] as Tool[],
      named: (each) => (tool.isTool(each) ? [{ type: 'function', name: names[tool.chosen] }] : undefined),
      readable: (items) => this.toReadable(items),
      isOffered,
      isFirst: left.number === 1,
    });
  }

  look(event: ModelEvent): ModelEvent | undefined {
    return this.held.look(event);
  }

  follow(pass: FinishedPass): OwnPass | undefined {
    // Calls beyond `max_tool_calls` are left out (protocol §3).
    const made = this.held.take(Math.max(0, pass.toolCallsLeft));
    if (made.length === 0) return undefined;
    const { tool, turn, names } = this;
    const { ids, clock, parallel, idleMs } = this.options;
    const prefix = itemIdPrefix(tool.itemType);
    const calls = made.map(({ fn, given }): HostedCall<Fn> => {
      const args = parseJson(given);
      return { id: ids.next(prefix), fn, name: names[fn], given, args: isObject(args) ? args : {} };
    });
    const options = {
      parallel: turn.settings.parallel_tool_calls ? parallel : 1,
      signal: pass.signal,
      clock,
      signOfLifeMs: Math.floor(idleMs / 3),
      stored: pass.stored,
    };
    const kind = {
      open: (call: HostedCall<Fn>) => tool.open(call),
      make: (call: HostedCall<Fn>) => this.run(call, pass),
      close: (call: HostedCall<Fn>, _key: string, outcome: Outcome) => tool.close(call, outcome),
    };
    return {
      isLast: false,
      standsFor: made.map(({ fn, given }) => ({ type: 'function_call', name: names[fn], arguments: given })),
      async *generate() {
        yield* runCalls(calls, kind, options);
        yield [NO_TOKENS, FINISH];
      },
    };
  }

  private run(call: HostedCall<Fn>, pass: FinishedPass): Promise<Outcome> {
    const { tool, options } = this;
    const { id: callId, name } = call;
    const errorType = tool.itemType.replace(/_call$/, '_failed');
    return reported(
      { callId, name, server: null },
      { clock: options.clock, ran: pass.ran },
      () =>
        tool.run(call, pass).catch((error: unknown) => {
          pass.signal.throwIfAborted();
          return tool.fail(call, explain(error, callId, pass.caller.requestId));
        }),
      (outcome) => (tool.hasFailed(outcome) ? errorType : null),
    );
  }

  private hold(noCalls: NoCalls | null = null): HeldCalls<Fn> {
    const functions = new Map(Object.entries<string>(this.names).map(([fn, name]) => [name, fn as Fn]));
    return new HeldCalls({ find: (name) => functions.get(name) }, noCalls);
  }

  /** Items as the model reads them: calls with what they have found, and without the tool, which functions stand for. */
  private toReadable(items: readonly Item[]): readonly Item[] {
    const { tool } = this;
    const known = new Set(items.filter(({ type }) => type === 'function_call').map((call) => call['call_id']));
    return items.flatMap((item) => {
      // What it has found stands beside it.
      if (item.type === tool.itemType && known.has(item.id)) return [];
      if (!addsTools(item.type)) return [item];
      const tools = objectsIn(item['tools']);
      return tools.some((each) => tool.isTool(each))
        ? [{ ...item, tools: tools.filter((each) => !tool.isTool(each)) }]
        : [item];
    });
  }
}

/** Why a call has failed, for its model. What no client can mend is logged. */
function explain(error: unknown, callId: string, requestId: string): string {
  if (error instanceof ApiError || error instanceof WebSearchError) return error.message;
  if (error instanceof StateError) return error.toApiError().message;
  logger.error(`${callId} of request ${requestId} failed`, error);
  return ApiError.unexpected(requestId, error).message;
}

/** The tools of a turn that are of a kind, those of the request first, with their places in it. */
export function hostedToolsOf<T extends object>(
  { settings, input }: Pick<Turn, 'settings' | 'input'>,
  isOfKind: (tool: object) => tool is T,
): readonly { readonly tool: T; readonly place: string }[] {
  const own = [...objectsIn(settings.tools).entries()].map(([index, tool]) => ({ tool, place: `tools[${index}]` }));
  const added = input
    .filter(({ type }) => addsTools(type))
    .flatMap(({ tools }) => objectsIn(tools))
    .map((tool) => ({ tool, place: 'input' }));
  return [...own, ...added].flatMap(({ tool, place }) => (isOfKind(tool) ? [{ tool, place }] : []));
}

/** A tool that searches vector stores, as requests have it. */
export interface FileSearchParam {
  readonly type: 'file_search';
  readonly vector_store_ids: readonly string[];
}

/** Whether a tool searches vector stores of this service: others have ids that it has not made. */
export function isOwnFileSearch(tool: object): tool is FileSearchParam {
  const { type, vector_store_ids: ids } = tool as { readonly type?: unknown; readonly vector_store_ids?: unknown };
  return type === 'file_search' && Array.isArray(ids) && ids.some(isOwnStoreId);
}

/** Whether this service has made an id, for a vector store. */
export function isOwnStoreId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith('vs_') && creationTimeOf(id) !== undefined;
}

/** The parameter of a function that takes texts to search for. */
export const QUERIES = { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_QUERIES };

/** The texts to search for, cut where they are longer than `longest`. Many models give one of them as `query`. */
export function queriesIn({ queries, query }: HostedCall<unknown>['args'], longest: number): readonly string[] {
  const list = Array.isArray(queries) ? (queries as readonly unknown[]) : [queries ?? query];
  const texts = list.filter((each): each is string => typeof each === 'string' && each.trim() !== '');
  return [...new Set(texts.map((text) => text.trim().slice(0, longest)))].slice(0, MOST_QUERIES);
}

/** A function for a model, which takes an object. */
export function toFunction(name: string, description: string, properties: object, required: readonly string[]): Tool {
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  return { type: 'function', name, description, parameters, strict: false };
}

/** What the model reads of a call: the call itself, and what it has found. Clients do not see it. */
export function toHidden({ id, name, given }: HostedCall<unknown>, output: object): ModelEvent {
  return {
    type: 'hidden',
    items: [
      { type: 'function_call', call_id: id, name, arguments: given },
      { type: 'function_call_output', call_id: id, output: JSON.stringify(output) },
    ],
  };
}
