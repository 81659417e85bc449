import { asTenant } from '../../access/index.js';
import type { Environment } from '../../config/index.js';
import type { McpOutcome, McpServer, McpToolInfo, McpToolParam } from '../../tools/mcp/index.js';
import { creationTimeOf, type ForeignItem, type IdGenerator, type Item, itemIdPrefix } from '../../protocol/index.js';
import type { ModelEvent, ProviderRegistry, Turn } from '../../providers/index.js';
import { andThen, type Clock, type MaybePromise } from '../../time/index.js';
import { objectsIn } from '../../validation/index.js';
import type { FinishedPass, NextPass, OwnPass, PassesLeft, TurnPolicy } from '../turn/pass-policy.js';
import { type ListOfTools, McpApprovals } from './mcp-approvals.js';
import {
  askForApproval,
  listTools,
  MAY_HAVE_BEEN_SENT,
  type McpCall,
  NO_OBJECT,
  NOT_OFFERED,
  type PlannedCall,
  readArguments,
  runMcpCalls,
  type McpRunOptions,
  toListed,
} from './mcp-calls.js';
import { type HeldCall, HeldCalls, noCallsIn, textOf } from './held-calls.js';
import { type McpFunction, McpFunctions } from './mcp-functions.js';
import { approvalOf, isAllowed, namesAllow } from './mcp-rules.js';
import { FINISH, NO_TOKENS } from './run-calls.js';

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
  readonly ids: IdGenerator;
  readonly environment: Pick<Environment, 'MCP_MAX_PARALLEL_CALLS' | 'MCP_REPEAT_CALLS' | 'MODEL_IDLE_TIMEOUT_MS'>;
  readonly providers: Pick<ProviderRegistry, 'seesImages'>;
}

/** The MCP tools of one turn. Its methods stand in the order in which they are called. */
export class McpTurn implements TurnPolicy {
  private readonly tools: ReadonlyMap<string, RunTool>;
  /** The tools of each server that the model may call, as its newest list has them. */
  private readonly lists = new Map<string, readonly McpToolInfo[]>();
  /** The answers of the request to approvals. */
  private readonly answers: readonly Item[];
  /** The functions that stand for them, beside these other tools; null until they are asked for, and when a list is new. */
  private functions: { readonly all: McpFunctions; readonly others: readonly object[] } | null = null;
  /** Whether the answers that refuse a call were used. */
  private hasRefused = false;
  /** The ids of calls that a process which died has left behind, and that were taken up. */
  private readonly settled = new Set<string>();
  /** The calls that the model makes in its pass. */
  private held: HeldCalls<McpFunction>;

  constructor(
    tools: readonly RunTool[],
    private readonly turn: Turn,
    private readonly shared: McpShared,
  ) {
    this.tools = new Map(tools.map((each) => [each.tool.server_label, each]));
    this.answers = McpApprovals.answersIn(turn.input).map(([, answer]) => answer);
    this.held = new HeldCalls(NO_FUNCTIONS);
  }

  /** Lists the tools that the context does not list, and runs what was approved, or was left behind by a process that died. */
  ahead(next: NextPass): MaybePromise<OwnPass | undefined> {
    return andThen(this.shared.approvals.ready(), () => this.planAhead(next));
  }

  private planAhead(next: NextPass): OwnPass | undefined {
    const { context } = next.question;
    const unlisted = [...this.tools.values()].filter((each) => !this.isListed(each, context));
    if (unlisted.length === 0 && next.unfinished.length === 0 && this.answers.length === 0) return undefined;
    const left = this.leftBehind(next, context);
    const open = this.approvedIn(context).filter(({ approvalId }) =>
      left.every((call) => call.approvalId !== approvalId),
    );
    // Calls beyond `max_tool_calls` stay open.
    const approved = open.slice(0, Math.max(0, next.toolCallsLeft - left.length));
    const refused = this.refusedIn(context);
    if ([unlisted, approved, refused, left].every(({ length }) => length === 0)) return undefined;
    const plan = { unlisted, approved, refused, left };
    return { isLast: false, generate: () => this.runAhead(plan, this.optionsOf(next)) };
  }

  private async *runAhead(
    { unlisted, approved, refused, left }: Ahead,
    options: McpRunOptions,
  ): AsyncGenerator<readonly ModelEvent[]> {
    const { shared, turn, lists } = this;
    const tenant = asTenant(turn.tenant);
    const servers = unlisted.map(({ server }) => server);
    const parallel = shared.environment.MCP_MAX_PARALLEL_CALLS;
    // Before anything is written: an answer that came before is refused as a request.
    const answered = { refused, approved: approved.map(({ approvalId }) => approvalId) };
    await shared.approvals.use(answered, tenant, turn.responseId);
    let areListed = false;
    try {
      yield* listTools(servers, { ...options, parallel }, async (label, found, askedAt) => {
        const run = this.tools.get(label) as RunTool;
        const allowed = found.filter((each) => isAllowed(each, run.tool.allowed_tools));
        lists.set(label, allowed);
        this.functions = null;
        const tools = allowed.map(toListed);
        return { id: await shared.approvals.issueList(this.toList(run, tools), askedAt), tools };
      });
      areListed = true;
    } finally {
      // What fails before its call is sent uses no approval.
      if (!areListed) await shared.approvals.giveBack(answered, tenant, turn.responseId);
    }
    this.hasRefused = true;
    yield* runMcpCalls([...approved.map((call) => this.plan(call)), ...left], options);
    yield [NO_TOKENS, FINISH];
  }

  ask(question: Turn, left: PassesLeft): Turn {
    // When a process that died has listed them, no list is made first. What a list says of its tools counts only if it is known to be ours.
    for (const each of this.tools.values()) {
      const item = this.lists.has(each.tool.server_label) ? undefined : newestList(each, question.context);
      if (item !== undefined) this.adopt(each, item, this.timeOf(each, item) !== undefined);
    }
    const functions = this.functionsBeside(question.settings.tools);
    const noCalls = noCallsIn(left);
    this.held = new HeldCalls(functions, noCalls);
    return functions.ask(question, { isOffered: noCalls === null, isFirst: left.number === 1 });
  }

  look(event: ModelEvent): ModelEvent | undefined {
    return this.held.look(event);
  }

  /** Runs the calls of a pass, or asks for their approvals. */
  follow(pass: FinishedPass): OwnPass | undefined {
    // Calls beyond `max_tool_calls` are left out (protocol §3).
    const made = this.held.take(Math.max(0, pass.toolCallsLeft));
    if (made.length === 0) return undefined;
    const asking = made.filter(({ fn }) => this.needsApproval(fn)).map(toCall);
    const running = made.filter(({ fn }) => !this.needsApproval(fn)).map((each) => this.plan(toCall(each)));
    const { turn, tools, shared } = this;
    const options = this.optionsOf(pass);
    async function* runAndAsk(): AsyncGenerator<readonly ModelEvent[]> {
      yield* runMcpCalls(running, options);
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
    }
    return {
      isLast: asking.length > 0,
      standsFor: made.map(({ fn, given }): ForeignItem => ({
        type: 'function_call',
        name: fn.tool.name,
        arguments: given,
      })),
      // A generator within a generator takes promises for each of its batches.
      generate: () => (asking.length > 0 ? runAndAsk() : runMcpCalls(running, options, [NO_TOKENS, FINISH])),
    };
  }

  /** The functions: their names are none of those of other tools. */
  private functionsBeside(others: readonly object[]): McpFunctions {
    if (this.functions?.others !== others) this.functions = { all: this.toFunctions(others), others };
    return this.functions.all;
  }

  private toFunctions(others: readonly object[]): McpFunctions {
    const functions = [...this.tools].flatMap(([label, { tool }]): readonly McpFunction[] => {
      const isDeferred = tool.defer_loading === true;
      const listed = (this.lists.get(label) ?? []).map((each) => ({ label, tool: each, isDeferred }));
      return this.turn.canApprove === false ? listed.filter((each) => !this.needsApproval(each)) : listed;
    });
    const injected = [...this.tools].flatMap(([label, { isInjected }]) => (isInjected === true ? [label] : []));
    const taken = new Set(objectsIn(others).map(({ name }) => name));
    const labels = new Map([...this.tools.keys()].map((label) => [label, this.lists.has(label)]));
    const seesImages = this.shared.providers.seesImages(this.turn.settings.model);
    return new McpFunctions(labels, functions, { injected, taken, seesImages });
  }

  /** Whether the tools of a server are known: from a list that was just made, or from one of the context that is still good. */
  private isListed(each: RunTool, context: readonly Item[]): boolean {
    if (this.lists.has(each.tool.server_label)) return true;
    const item = newestList(each, context);
    if (item === undefined) return false;
    // A list that a client has made up could call a tool harmless that is not; one of a request before may have fewer tools.
    const listedAt = this.timeOf(each, item);
    if (listedAt === undefined || each.server.isStale(listedAt)) return false;
    this.adopt(each, item, true);
    return true;
  }

  /** When the service made a list; undefined for one of which that is not known. */
  private timeOf(each: RunTool, item: Item): number | undefined {
    return this.shared.approvals.listedAt(item.id, this.toList(each, item['tools']));
  }

  private toList({ tool, server }: RunTool, tools: unknown): ListOfTools {
    return { tenant: asTenant(this.turn.tenant), server: server.identity, allowed: tool.allowed_tools, tools };
  }

  /** Takes the tools of a list of the context; without their annotations, if it is not known to be ours. */
  private adopt({ tool, server }: RunTool, item: Item, isOurs: boolean): void {
    const { server_label: label, allowed_tools: allowed } = tool;
    const tools = toolsIn(item).map((each) => (isOurs ? each : { ...each, annotations: null }));
    this.functions = null;
    this.lists.set(
      label,
      tools.filter((each) => server.offers(each.name) && isAllowed(each, allowed)),
    );
  }

  /** The calls that the request approves and that were not run yet. */
  private approvedIn(context: readonly Item[]): readonly (McpCall & { readonly approvalId: string })[] {
    const approved = this.answers.filter(
      ({ approval_request_id: id, approve }) => approve === true && McpApprovals.isOwn(String(id)),
    );
    if (approved.length === 0) return [];
    const requests = McpApprovals.requestsIn(context);
    const run = new Set(context.filter(({ type }) => type === 'mcp_call').map((call) => call['approval_request_id']));
    return approved.flatMap(({ approval_request_id: id }) => {
      const request = requests.get(String(id));
      if (request === undefined || run.has(id)) return [];
      return this.tools.has(String(request['server_label'])) ? [{ ...readCall(request), approvalId: request.id }] : [];
    });
  }

  /** The requests that the request refuses, once. */
  private refusedIn(context: readonly Item[]): readonly string[] {
    if (this.hasRefused) return [];
    const ids = this.answers
      .filter(({ approve }) => approve !== true)
      .map(({ approval_request_id: id }) => String(id))
      .filter((id) => McpApprovals.isOwn(id));
    if (ids.length === 0) return [];
    const known = new Set(context.map(({ id }) => id));
    return ids.filter((id) => known.has(id));
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
      if (this.settled.has(item.id)) return [];
      this.settled.add(item.id);
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
    return { ...call, id: this.shared.ids.next(itemIdPrefix('mcp_call')), server, outcome };
  }

  /** The stricter one of the operator's rule and the client's; OpenAI's default is to ask always. */
  private needsApproval({ label, tool }: McpFunction): boolean {
    const { tool: own, server } = this.tools.get(label) as RunTool;
    const ofOperator = server.approvalOf(tool);
    return ofOperator === 'always' || (approvalOf(tool, own.require_approval) ?? ofOperator ?? 'always') === 'always';
  }

  private optionsOf({ signal, stored, ran }: Pick<NextPass, 'signal' | 'stored' | 'ran'>): McpRunOptions {
    const { clock, environment } = this.shared;
    const { MCP_MAX_PARALLEL_CALLS: most, MODEL_IDLE_TIMEOUT_MS: idleMs } = environment;
    const parallel = !this.turn.settings.parallel_tool_calls ? 1 : most;
    const { responseId } = this.turn;
    return { parallel, responseId, signal, clock, signOfLifeMs: Math.floor(idleMs / 3), stored, ran };
  }
}

/** Before the model is asked. */
const NO_FUNCTIONS = { find: (): McpFunction | undefined => undefined };

/** What comes before the model is asked. */
interface Ahead {
  readonly unlisted: readonly RunTool[];
  readonly approved: readonly (McpCall & { readonly approvalId: string })[];
  /** The ids of requests that are refused: they are answered, too. */
  readonly refused: readonly string[];
  readonly left: readonly PlannedCall[];
}

function newestList({ tool }: RunTool, context: readonly Item[]): Item | undefined {
  return context.findLast((item) => item.type === 'mcp_list_tools' && item['server_label'] === tool.server_label);
}

function toolsIn(list: Item): readonly McpToolInfo[] {
  return objectsIn(list['tools']) as unknown as readonly McpToolInfo[];
}

function toCall({ fn, given }: HeldCall<McpFunction>): McpCall {
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
