import { asTenant } from '../../access/index.js';
import type { Environment } from '../../config/index.js';
import type { McpOutcome, McpServer, McpToolInfo, McpToolParam } from '../../mcp/index.js';
import { ApiError, creationTimeOf, type ForeignItem, type Item } from '../../protocol/index.js';
import type { ModelEvent, Turn } from '../../providers/index.js';
import { andThen, type Clock, type MaybePromise } from '../../time/index.js';
import { objectsIn } from '../../validation/index.js';
import type { FinishedPass, NextPass, OwnPass, PassesLeft, TurnPolicy } from '../turn/pass-policy.js';
import { McpApprovals } from './mcp-approvals.js';
import {
  askForApproval,
  ListFailedError,
  listTools,
  MAY_HAVE_BEEN_SENT,
  type McpCall,
  NO_OBJECT,
  NO_TOKENS,
  NOT_OFFERED,
  type PlannedCall,
  readArguments,
  runCalls,
  type RunOptions,
  toListed,
} from './mcp-calls.js';
import { type McpFunction, McpFunctions } from './mcp-functions.js';
import { approvalOf, isAllowed, namesAllow, namesOf } from './mcp-rules.js';

const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

/** A tool of a turn, with its server. */
export interface RunTool {
  readonly tool: McpToolParam;
  readonly server: McpServer;
  /** Whether the request does not name it: the program gives it to the turn. */
  readonly isInjected?: boolean;
}

/** What the turns of the policy share. */
export interface McpShared {
  readonly approvals: McpApprovals;
  readonly clock: Clock;
  readonly environment: Pick<Environment, 'MCP_MAX_PARALLEL_CALLS' | 'MCP_REPEAT_CALLS' | 'MODEL_IDLE_TIMEOUT_MS'>;
}

/** The MCP tools of one turn. Its methods stand in the order in which they are called. */
export class McpTurn implements TurnPolicy {
  private readonly tools: ReadonlyMap<string, RunTool>;
  /** The tools of each server that the model may call, as its newest list has them. */
  private readonly lists = new Map<string, readonly McpToolInfo[]>();
  /** The answers of the request to approvals. */
  private readonly answers: readonly Item[];
  private functions: McpFunctions;
  /** The calls that the model makes in its pass, and those it has not ended, by their keys. */
  private calls: WrittenCall[] = [];
  private readonly open = new Map<string | undefined, WrittenCall>();

  constructor(
    tools: readonly RunTool[],
    private readonly turn: Turn,
    private readonly shared: McpShared,
  ) {
    this.tools = new Map(tools.map((each) => [each.tool.server_label, each]));
    this.answers = turn.input.filter(({ type }) => type === 'mcp_approval_response');
    this.functions = this.toFunctions();
  }

  /** Lists the tools that the context does not list, and runs what was approved, or was left behind by a process that died. */
  ahead(next: NextPass): MaybePromise<OwnPass | undefined> {
    return andThen(this.shared.approvals.ready(), () => this.planAhead(next));
  }

  private planAhead(next: NextPass): OwnPass | undefined {
    const { context } = next.question;
    const unlisted = [...this.tools.values()].filter((each) => !this.isListed(each, context));
    const left = this.leftBehind(next, context);
    const approved = this.approvedIn(context).filter(({ approvalId }) =>
      left.every((call) => call.approvalId !== approvalId),
    );
    if (unlisted.length === 0 && approved.length === 0 && left.length === 0) return undefined;
    return { isLast: false, generate: () => this.runAhead({ unlisted, approved, left }, this.optionsOf(next)) };
  }

  private async *runAhead(
    { unlisted, approved, left }: Ahead,
    options: RunOptions,
  ): AsyncGenerator<readonly ModelEvent[]> {
    const { shared, turn, lists } = this;
    const tenant = asTenant(turn.tenant);
    const servers = unlisted.map(({ server }) => server);
    try {
      yield* listTools(servers, options, async (label, found) => {
        const { tool, server } = this.tools.get(label) as RunTool;
        const allowed = found.filter((each) => isAllowed(each, tool.allowed_tools));
        lists.set(label, allowed);
        const tools = allowed.map(toListed);
        return { id: await shared.approvals.issueList(tenant, server.identity, tools), tools };
      });
    } catch (error) {
      if (!(error instanceof ListFailedError)) throw error;
      throw ApiError.of('http_error', error.message, { param: 'tools', cause: error });
    }
    // Behind the lists: what fails before its call is sent uses no approval.
    for (const { approvalId } of approved) await shared.approvals.use(approvalId, tenant, turn.responseId);
    yield* runCalls([...approved.map((call) => this.plan(call)), ...left], options);
    yield [NO_TOKENS, FINISH];
  }

  ask(question: Turn, { number, isLast, toolCallsLeft }: PassesLeft): Turn {
    this.calls = [];
    this.open.clear();
    // When a process that died has listed them, no list is made first. What a list says of its tools counts only if it is known to be ours.
    for (const each of this.tools.values()) {
      const item = this.lists.has(each.tool.server_label) ? undefined : newestList(each, question.context);
      if (item !== undefined) this.adopt(each, item, this.timeOf(each, item) !== undefined);
    }
    this.functions = this.toFunctions();
    return this.functions.ask(question, { isOffered: !isLast && toolCallsLeft > 0, isFirst: number === 1 });
  }

  /** Keeps back the calls of the functions that stand for tools. */
  look(event: ModelEvent): ModelEvent | undefined {
    const started = this.start(event);
    if (started !== undefined) {
      this.calls.push(started);
      this.open.set(keyOf(event), started);
      // What the model has written before without a key has come to its end.
      return keyOf(event) === undefined ? { type: 'end' } : undefined;
    }
    const key = keyOf(event);
    const call = this.open.get(key);
    if (call === undefined) return event;
    switch (event.type) {
      case 'function_call_arguments':
        call.arguments += event.delta;
        return undefined;
      case 'item.event':
        return undefined;
      case 'item.close':
        call.arguments = textOf(event.item['arguments'], call.arguments);
        this.open.delete(key);
        return undefined;
      case 'end':
        this.open.delete(key);
        return undefined;
      default:
        // Another item begins, or what belongs to none.
        if (key === undefined && OPENING.has(event.type)) this.open.delete(key);
        return event;
    }
  }

  /** Runs the calls of a pass, or asks for their approvals. */
  follow(pass: FinishedPass): OwnPass | undefined {
    // Those beyond `max_tool_calls` are left out (protocol §3).
    const made = this.calls
      .slice(0, Math.max(0, pass.toolCallsLeft))
      .map(({ fn, arguments: given }): ReadCall => ({ fn, given }));
    this.calls = [];
    if (made.length === 0) return undefined;
    const asking = made.filter(({ fn }) => this.needsApproval(fn)).map(toCall);
    const running = made.filter(({ fn }) => !this.needsApproval(fn)).map((each) => this.plan(toCall(each)));
    const { turn, tools, shared } = this;
    const options = this.optionsOf(pass);
    return {
      isLast: asking.length > 0,
      standsFor: made.map(({ fn, given }): ForeignItem => ({
        type: 'function_call',
        name: fn.tool.name,
        arguments: given,
      })),
      async *generate() {
        yield* runCalls(running, options);
        for (const call of asking) {
          const server = tools.get(call.label)?.server;
          if (server === undefined) continue;
          const asked = {
            tenant: asTenant(turn.tenant),
            server: server.identity,
            name: call.name,
            arguments: call.arguments,
          };
          yield askForApproval(await shared.approvals.issue(asked), call);
        }
        yield [NO_TOKENS, FINISH];
      },
    };
  }

  private toFunctions(): McpFunctions {
    const functions = [...this.tools].flatMap(([label, { tool }]): readonly McpFunction[] => {
      const isDeferred = tool.defer_loading === true;
      return (this.lists.get(label) ?? []).map((each) => ({ label, tool: each, isDeferred }));
    });
    const injected = [...this.tools].flatMap(([label, { isInjected }]) => (isInjected === true ? [label] : []));
    return new McpFunctions(new Set(this.tools.keys()), functions, injected);
  }

  /** Whether the tools of a server are known: from a list that was just made, or from one of the context that is still good. */
  private isListed(each: RunTool, context: readonly Item[]): boolean {
    const { server_label: label, allowed_tools: allowed } = each.tool;
    if (this.lists.has(label)) return true;
    const item = newestList(each, context);
    if (item === undefined) return false;
    // A list that a client has made up could call a tool harmless that is not.
    const listedAt = this.timeOf(each, item);
    if (listedAt === undefined || each.server.isStale(listedAt)) return false;
    // A request before this one may have allowed fewer.
    if (!namesOf(allowed).every((name) => toolsIn(item).some((tool) => tool.name === name))) return false;
    this.adopt(each, item, true);
    return true;
  }

  /** When the service made a list; undefined for one of which that is not known. */
  private timeOf({ server }: RunTool, item: Item): number | undefined {
    return this.shared.approvals.listedAt(item, asTenant(this.turn.tenant), server.identity);
  }

  /** Takes the tools of a list of the context; without their annotations, if it is not known to be ours. */
  private adopt({ tool, server }: RunTool, item: Item, isOurs: boolean): void {
    const { server_label: label, allowed_tools: allowed } = tool;
    const tools = toolsIn(item).map((each) => (isOurs ? each : { ...each, annotations: null }));
    this.lists.set(
      label,
      tools.filter((each) => server.offers(each.name) && isAllowed(each, allowed)),
    );
  }

  /** The calls that the request approves and that were not run yet. */
  private approvedIn(context: readonly Item[]): readonly (McpCall & { readonly approvalId: string })[] {
    return this.answers.flatMap(({ approval_request_id: id, approve }) => {
      const request = context.find((item) => item.type === 'mcp_approval_request' && item.id === id);
      if (approve !== true || request === undefined || !McpApprovals.isOwn(request.id)) return [];
      if (context.some((item) => item.type === 'mcp_call' && item['approval_request_id'] === id)) return [];
      return this.tools.has(String(request['server_label'])) ? [{ ...readCall(request), approvalId: request.id }] : [];
    });
  }

  /**
   * The calls that a process had begun when it died: they may have been sent. Only what does no harm twice is sent again
   * (MCP_REPEAT_CALLS); the model learns of the others that nobody knows.
   */
  private leftBehind({ unfinished }: NextPass, context: readonly Item[]): readonly PlannedCall[] {
    const ended = context.filter(({ type }) => type === 'mcp_call');
    return unfinished.flatMap((item) => {
      const label = String(item['server_label']);
      // Without its arguments it was not stored as a whole, and so not sent: the model may make it again.
      if (item.type !== 'mcp_call' || !this.tools.has(label) || item['arguments'] === '') return [];
      const call = readCall(item);
      const same = ended.findIndex((other) => creationOf(other) > creationOf(item) && isSame(readCall(other), call));
      if (same !== -1) {
        ended.splice(same, 1);
        return [];
      }
      return [this.mayRepeat(label, call.name) ? this.plan(call) : this.plan(call, MAY_HAVE_BEEN_SENT)];
    });
  }

  private mayRepeat(label: string, name: string): boolean {
    const { MCP_REPEAT_CALLS: rule } = this.shared.environment;
    if (rule !== 'safe') return rule === 'always';
    const annotations = this.lists.get(label)?.find((tool) => tool.name === name)?.annotations;
    return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  }

  /** A call with its server. What is no call that could be sent has an outcome. */
  private plan(call: McpCall, known: McpOutcome | null = null): PlannedCall {
    const { tool, server } = this.tools.get(call.label) as RunTool;
    const isOpen = server.offers(call.name) && namesAllow(call.name, tool.allowed_tools);
    const outcome = known ?? (readArguments(call.arguments) === undefined ? NO_OBJECT : isOpen ? null : NOT_OFFERED);
    return { ...call, server, outcome };
  }

  /** The stricter one of the operator's rule and the client's; OpenAI's default is to ask always. */
  private needsApproval({ label, tool }: McpFunction): boolean {
    const { tool: own, server } = this.tools.get(label) as RunTool;
    const ofOperator = server.approvalOf(tool);
    return ofOperator === 'always' || (approvalOf(tool, own.require_approval) ?? ofOperator ?? 'always') === 'always';
  }

  private optionsOf({ signal, stored }: Pick<NextPass, 'signal' | 'stored'>): RunOptions {
    const { clock, environment } = this.shared;
    const { MCP_MAX_PARALLEL_CALLS: most, MODEL_IDLE_TIMEOUT_MS: idleMs } = environment;
    const parallel = !this.turn.settings.parallel_tool_calls ? 1 : most;
    return { parallel, responseId: this.turn.responseId, signal, clock, signOfLifeMs: Math.floor(idleMs / 3), stored };
  }

  /** The call that an event begins; undefined for every other event. */
  private start(event: ModelEvent): WrittenCall | undefined {
    if (event.type === 'function_call') return this.toWritten(event.name, '');
    if (event.type !== 'item.open' || event.item.type !== 'function_call') return undefined;
    return this.toWritten(textOf(event.item['name'], ''), textOf(event.item['arguments'], ''));
  }

  private toWritten(name: string, given: string): WrittenCall | undefined {
    const fn = this.functions.find(name);
    return fn === undefined ? undefined : { fn, arguments: given };
  }
}

/** What comes before the model is asked. */
interface Ahead {
  readonly unlisted: readonly RunTool[];
  readonly approved: readonly (McpCall & { readonly approvalId: string })[];
  readonly left: readonly PlannedCall[];
}

/** A call as its model writes it. */
interface WrittenCall {
  readonly fn: McpFunction;
  arguments: string;
}

interface ReadCall {
  readonly fn: McpFunction;
  readonly given: string;
}

/** The events that open an item, or go on with one, without a key. */
const OPENING: ReadonlySet<ModelEvent['type']> = new Set<ModelEvent['type']>([
  'text',
  'refusal',
  'reasoning',
  'reasoning_summary',
  'reasoning_open',
  'function_call',
  'custom_tool_call',
]);

function newestList({ tool }: RunTool, context: readonly Item[]): Item | undefined {
  return context.findLast((item) => item.type === 'mcp_list_tools' && item['server_label'] === tool.server_label);
}

function toolsIn(list: Item): readonly McpToolInfo[] {
  return objectsIn(list['tools']) as unknown as readonly McpToolInfo[];
}

function keyOf(event: ModelEvent): string | undefined {
  return (event as { readonly key?: string }).key;
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

function toCall({ fn, given }: ReadCall): McpCall {
  // Many models write nothing for no arguments.
  const text = given.trim() === '' ? '{}' : given;
  return { label: fn.label, name: fn.tool.name, arguments: text, approvalId: null };
}

/** What an `mcp_call` or a request for an approval says. */
export function readCall(item: Item): McpCall {
  const { server_label: label, name, arguments: given, approval_request_id: id } = item;
  return {
    label: String(label),
    name: String(name),
    arguments: textOf(given, ''),
    approvalId: typeof id === 'string' ? id : null,
  };
}

function isSame(one: McpCall, other: McpCall): boolean {
  return one.label === other.label && one.name === other.name && one.arguments === other.arguments;
}

function creationOf({ id }: Item): number {
  return creationTimeOf(id) ?? 0;
}
