import { BreakConnectionError, ModelError, type Turn } from '../../providers/index.js';
import type { RandomFor } from '../answer/plan-answer.js';
import { toReasoningSteps, toTextSteps } from '../answer/to-steps.js';
import { fakeEncryption, summaryMode } from '../answer/plan-reasoning.js';
import { splitIntoTokens, sumTokens, takeTokens, type TokenPiece } from '../answer/token-pieces.js';
import { refusalOf } from '../faults.js';
import type { Step } from '../step.js';
import type { Approval } from './approvals.js';
import { HostedCalls, type ScriptCode, type ScriptMcpCall, toMcpCall } from './hosted-calls.js';
import type { ScriptCall, ScriptError, ScriptStep, ScriptText } from './script-file.js';

const RETRY_AFTER_SECONDS = 1;

/** Converts steps of a script into steps of the model, up to a token limit. */
export class ScriptWriter {
  private output = 0;
  private reasoning = 0;
  private full = false;
  private asking = false;
  private approval: Approval | null;
  private readonly hosted: HostedCalls;
  /** MCP servers whose tools the client knows. */
  private readonly listed: Set<unknown>;

  /**
   * `limit` is in tokens; it does not apply to recorded `events`. `steps` are all of the turn; `approval` is the client's answer, for the
   * first step.
   */
  constructor(
    private readonly turn: Turn,
    private readonly limit: number,
    private readonly randomFor: RandomFor,
    private readonly script: { readonly steps: readonly ScriptStep[]; readonly approval: Approval | null },
  ) {
    this.approval = script.approval;
    this.hosted = new HostedCalls(turn.include);
    const lists = turn.context.filter(({ type }) => type === 'mcp_list_tools');
    this.listed = new Set(lists.map((item) => item['server_label']));
  }

  /** Tokens so far; `output` includes `reasoning`. */
  get written(): { readonly output: number; readonly reasoning: number } {
    return { output: this.output, reasoning: this.reasoning };
  }

  /** Whether the limit was exceeded; no steps may follow. */
  get isFull(): boolean {
    return this.full;
  }

  /** Whether the turn waits for the client's approval; no steps may follow. */
  get isAsking(): boolean {
    return this.asking;
  }

  write(step: ScriptStep): Iterable<Step> {
    if (step.events !== undefined) return step.events;
    if (step.text !== undefined) return toTextSteps(this.take(step.text), this.turn, this.randomFor);
    if (step.reasoning !== undefined) return this.think(step.reasoning);
    if (step.refusal !== undefined) return this.refuse(step.refusal);
    if (step.call !== undefined) return this.call(step.call);
    if (step.search !== undefined) return this.hosted.search(step.search);
    if (step.files !== undefined) return this.hosted.files(step.files);
    if (step.code !== undefined) return this.runCode(step.code);
    if (step.image !== undefined) return this.hosted.image(step.image);
    if (step.mcp !== undefined) return this.callMcp(toMcpCall(step.mcp));
    if (step.delay !== undefined) return [{ type: 'pause', ms: step.delay }];
    if (step.stall === true) return [{ type: 'pause', ms: Infinity }];
    if (step.cut === true) return [{ type: 'throw', error: new BreakConnectionError() }];
    if (step.error !== undefined) return [{ type: 'throw', error: toError(step.error, this.turn.settings.model) }];
    return [{ type: 'leave' }];
  }

  /** Reasoning is visible as a summary, if the request asks for one. */
  private think(text: ScriptText): Iterable<Step> {
    const pieces = this.take(text);
    const tokens = sumTokens(pieces);
    this.reasoning += tokens;
    const isShown = summaryMode(this.turn.settings.reasoning) !== null;
    const encrypted = fakeEncryption(this.randomFor('reasoning'));
    return toReasoningSteps({ tokens, summary: isShown ? pieces : [], encrypted });
  }

  private refuse(text: ScriptText): Iterable<Step> {
    return this.take(text).map(({ text: delta }) => ({ type: 'refusal', delta }));
  }

  private call({ name, namespace, call_id: callId, arguments: given = {}, input }: ScriptCall): readonly Step[] {
    const place = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(callId === undefined ? {} : { callId }),
    };
    const text = input ?? (typeof given === 'string' ? given : JSON.stringify(given));
    const pieces = this.take(text);
    if (this.full && pieces.length === 0) return [];
    const [open, piece] =
      input === undefined
        ? (['function_call', 'function_call_arguments'] as const)
        : (['custom_tool_call', 'custom_tool_call_input'] as const);
    return [{ type: open, ...place }, ...pieces.map(({ text: delta }): Step => ({ type: piece, delta }))];
  }

  private runCode(run: ScriptCode): readonly Step[] {
    const pieces = this.take(typeof run === 'string' ? run : run.code);
    return this.full
      ? []
      : this.hosted.code(
          run,
          pieces.map(({ text }) => text),
        );
  }

  /** A call, or the question whether it may be made. */
  private callMcp(call: ScriptMcpCall): readonly Step[] {
    const { approval } = this;
    this.approval = null;
    if (approval?.isApproved === false) return [];
    const pieces = this.take(JSON.stringify(call.arguments ?? {}));
    if (this.full) return [];
    const list = this.listTools(call.server);
    if (call.approval === true && approval === null) {
      this.asking = true;
      return [...list, ...this.hosted.mcpApproval(call)];
    }
    const deltas = pieces.map(({ text }) => text);
    return [...list, ...this.hosted.mcp(call, deltas, approval?.requestId ?? null)];
  }

  /** Models see the tools of a server before they call the first one. */
  private listTools(server: string): readonly Step[] {
    if (this.listed.has(server)) return [];
    this.listed.add(server);
    const calls = this.script.steps.flatMap(({ mcp }) => (mcp === undefined ? [] : [toMcpCall(mcp)]));
    const names = calls.filter((call) => call.server === server).map(({ tool }) => tool);
    return this.hosted.mcpTools(server, [...new Set(names)]);
  }

  private take(text: ScriptText): readonly TokenPiece[] {
    const left = this.limit - this.output;
    const pieces = typeof text === 'string' ? splitIntoTokens(text, left) : text.map(toPiece);
    const taken = takeTokens(pieces, left);
    this.output += sumTokens(taken);
    this.full ||= taken.length < pieces.length;
    return taken;
  }
}

function toPiece(text: string): TokenPiece {
  return { text, tokens: sumTokens(splitIntoTokens(text)) };
}

function toError(error: NonNullable<ScriptStep['error']>, model: string): ModelError {
  if (typeof error === 'string') return refusalOf(error, model, RETRY_AFTER_SECONDS);
  const { kind, code, message, retry_after: seconds = RETRY_AFTER_SECONDS }: ScriptError = error;
  const usual = kind === undefined ? undefined : refusalOf(kind, model, seconds);
  const { status, type, param } = { ...usual?.options, ...error };
  return new ModelError(code ?? usual?.code ?? 'server_error', message ?? usual?.message ?? 'Error of the script.', {
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
    ...(param == null ? {} : { param }),
    ...(error.retry_after === undefined && kind === undefined ? {} : { retryAfterMs: seconds * 1000 }),
  });
}
