import { Injectable } from '@nestjs/common';

import {
  ContextResolver,
  type Continuation,
  ConversationGate,
  indexOfEffort,
  originOf,
  type ReadConversation,
  Transcript,
  type TurnContext,
} from '../../context/index.js';
import { ApiError, type Item, type Origin, type ResponseSettings } from '../../protocol/index.js';
import { HostedTools, type ModelInfo, type ModelRoute, ProviderRegistry, type Turn } from '../../providers/index.js';
import { type ConversationPlace, ResponseStore, type StartedRun } from '../../state/index.js';
import { andThen, isPromise, type MaybePromise } from '../../time/index.js';
import { nothingToAnswer } from '../dto/index.js';
import { McpApprovals } from '../tools/mcp-approvals.js';
import type { ActiveTurn } from './active-turn.js';
import { compactionOf } from './compaction-request.js';
import { PassPolicies } from './turn-policies.js';
import { Questions } from './questions.js';

/** A turn with its model and context. */
export interface ResolvedTurn {
  readonly route: ModelRoute;
  /** The input of the first pass, as its model sees it. */
  readonly question: Turn;
  /** The input of the request with its references resolved, which is stored. */
  readonly input: readonly Item[];
  /** The transcript before the answer. */
  readonly transcript: Transcript;
  readonly parent: Continuation | null;
  /** The conversation that the response is appended to, as it was read. */
  readonly conversation: ConversationPlace | null;
  /** The session of the response. */
  readonly sessionId: string;
  /** Whether its context may be compacted before a pass, and is fitted into the window only then. */
  readonly mayCompact: boolean;
}

/** Resolves the model and the context of a turn: the last step that can refuse its request. */
@Injectable()
export class TurnResolver {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly store: ResponseStore,
    private readonly contexts: ContextResolver,
    private readonly conversations: ConversationGate,
    private readonly questions: Questions,
    private readonly hostedTools: HostedTools,
    private readonly policies: PassPolicies,
  ) {}

  /**
   * Throws ApiError for an unknown model or parent, for items that do not fit together or into the model's window, and
   * for unsupported efforts and tools; StoreUnavailableError when the store is known to be unavailable.
   */
  resolve(turn: ActiveTurn): MaybePromise<ResolvedTurn> {
    const { admitted } = turn;
    const route = this.providers.route(admitted.settings.model, admitted.caller);
    turn.chose(route.providerName);
    turn.isSteerable = route.model.steerable ?? route.provider.isSteerable;
    const mustBeSaved = admitted.settings.store || admitted.settings.background === true;
    const expecting = mustBeSaved ? this.store.expectSave() : undefined;
    if (isPromise(expecting)) return expecting.then(() => this.resolveFitting(turn, route));
    return this.resolveFitting(turn, route);
  }

  /**
   * Resolves a turn whose tokens are only counted, and throws as `resolve`: nothing will be saved, and a context that no truncation fits into the model's
   * window stays whole.
   */
  async resolveToCount(turn: ActiveTurn): Promise<Pick<ResolvedTurn, 'route' | 'question'>> {
    const { admitted, signal } = turn;
    const route = this.providers.route(admitted.settings.model, admitted.caller);
    const resolved = await this.resolveContext(turn, route);
    const question = this.policies.askOnce(resolved.question);
    const isTruncated = admitted.settings.truncation === 'auto';
    return { route, question: isTruncated ? await this.questions.truncate(question, route, signal) : question };
  }

  /** The input of the next pass, after items were given to the model. */
  async resolveNext(
    turn: ActiveTurn,
    { route, sessionId, mayCompact }: ResolvedTurn,
    given: readonly Item[],
    transcript: Transcript,
    origin: Origin | null,
  ): Promise<Turn> {
    const { admitted, signal } = turn;
    const parent = { responseId: admitted.responseId, origin };
    const question = await this.questions.make(turn, route, sessionId, { input: given, transcript, parent });
    return mayCompact ? question : this.questions.fit(question, route, signal);
  }

  /** Fits a question that may be compacted, but was not, into the window of its model, unless its upstream compacts. Throws ApiError 400. */
  async fitUncompacted(question: Turn, route: ModelRoute, signal: AbortSignal): Promise<Turn> {
    return route.provider.compactsContexts ? question : this.questions.fit(question, route, signal);
  }

  private resolveFitting(turn: ActiveTurn, route: ModelRoute): MaybePromise<ResolvedTurn> {
    const resolved = this.resolveAsked(turn, route);
    if (route.model.contextWindow === undefined) return resolved;
    const fit = (whole: ResolvedTurn): MaybePromise<ResolvedTurn> => {
      if (whole.mayCompact || this.questions.fitsAnyway(whole.question, route)) return whole;
      const fitting = this.questions.fit(whole.question, route, turn.signal);
      return fitting.then((question) => ({ ...whole, question }));
    };
    return andThen(resolved, fit);
  }

  /** The turn with its whole context, if that has something to answer (protocol §2, order rule 7). */
  private resolveAsked(turn: ActiveTurn, route: ModelRoute): MaybePromise<ResolvedTurn> {
    const resolved = this.resolveContext(turn, route);
    if (turn.admitted.settings.conversation == null || !turn.admitted.generate) return resolved;
    const check = (whole: ResolvedTurn): ResolvedTurn => {
      if (whole.transcript.size === 0) throw nothingToAnswer();
      return whole;
    };
    return andThen(resolved, check);
  }

  /** The turn with its whole context. */
  private resolveContext(turn: ActiveTurn, route: ModelRoute): MaybePromise<ResolvedTurn> {
    const { admitted, client, run } = turn;
    // Resolved when the response was created; its references may be deleted since.
    if (run !== null && turn.conversation === null) return this.toResolved(turn, route, toContext(run.started));
    const { caller, settings, session, input } = admitted;
    const resolveFrom = (history: string | ReadConversation | null): MaybePromise<ResolvedTurn> => {
      const scope = { within: session?.id, remembered: client.continuations };
      const context = this.contexts.resolve(caller.tenant, history, input, scope);
      if (isPromise(context)) return context.then((found) => this.toResolved(turn, route, found));
      return this.toResolved(turn, route, context);
    };
    if (settings.conversation == null) return resolveFrom(settings.previous_response_id);
    if (turn.conversation !== null) return resolveFrom(turn.conversation);
    // The turn does not run yet, so that only its request is checked, or it only reads the conversation.
    return this.conversations.read(caller.tenant, settings.conversation.id).then(resolveFrom);
  }

  private toResolved(turn: ActiveTurn, route: ModelRoute, context: TurnContext): MaybePromise<ResolvedTurn> {
    const { admitted, run } = turn;
    const { input, transcript, parent, conversation } = context;
    const own = conversation?.id ?? parent?.sessionId ?? admitted.responseId;
    const sessionId = run?.started.sessionId ?? admitted.session?.id ?? own;
    const mayCompact = compactionOf({ input, parameters: admitted.parameters }) !== null;
    const complete = (question: Turn): ResolvedTurn => {
      const effort = question.settings.reasoning?.effort ?? null;
      refuseUnsupportedEffort(effort, route.model, placeOfEffort(context, effort, admitted.settings));
      refuseImageCompression(admitted.settings, route);
      if (!admitted.generate) refuseApprovals(input);
      this.hostedTools.check(route, question, input, (tool) => this.policies.runs(tool, question));
      return { route, question, input, transcript, parent, conversation, sessionId, mayCompact };
    };
    const check = (resolved: ResolvedTurn): MaybePromise<ResolvedTurn> =>
      // What has been accepted is not refused when its run begins.
      run === null ? andThen(this.policies.check(resolved.question, input), () => resolved) : resolved;
    const question = this.questions.make(turn, route, sessionId, context);
    return andThen(andThen(question, complete), check);
  }
}

/** The stored context of a background turn. */
/** An answer to an approval belongs to the turn that acts on it: a later one would not look at it. */
function refuseApprovals(input: readonly Item[]): void {
  const answer = McpApprovals.answersIn(input).find(([, { approval_request_id: id }]) =>
    McpApprovals.isOwn(String(id)),
  );
  if (answer === undefined) return;
  const message = 'A warm-up cannot answer an approval. Send the answer with the request that has the model go on.';
  throw ApiError.badRequest(message, `input[${answer[0]}]`);
}

function toContext({ context, input, parent, sessionId }: StartedRun): TurnContext {
  const transcript = Transcript.of(context);
  return {
    input,
    transcript: transcript.append(input),
    parent: parent && { ...parent, origin: originOf(parent), transcript, conversation: null, sessionId },
    conversation: null,
  };
}

/** The path of the effort that counts: that of the request, or of the item that has changed it. */
function placeOfEffort({ input }: TurnContext, effort: string | null, { reasoning }: ResponseSettings): string {
  if (effort === (reasoning?.effort ?? null)) return 'reasoning.effort';
  const index = indexOfEffort(input);
  return index === -1 ? 'input' : `input[${index}].reasoning.effort`;
}

/** Protocol §2, step 8: the effort is the only setting that is checked against the model. */
function refuseUnsupportedEffort(effort: string | null, { id, reasoningEfforts }: ModelInfo, param: string): void {
  if (effort === null || reasoningEfforts === undefined || reasoningEfforts.includes(effort)) return;
  if (reasoningEfforts.length === 0) {
    throw ApiError.of('unsupported_parameter', `Unsupported parameter: '${param}' is not supported with this model.`, {
      param,
    });
  }
  const supported = new Intl.ListFormat('en').format(reasoningEfforts.map((known) => `'${known}'`));
  throw ApiError.of(
    'unsupported_value',
    `Unsupported value: '${effort}' is not supported with the '${id}' model. Supported values are: ${supported}.`,
    { param },
  );
}

/** Only upstreams with this API compress images in a context, and only `enabled` demands it. */
function refuseImageCompression({ image }: ResponseSettings, { provider, model }: ModelRoute): void {
  if (image?.context_compression !== 'enabled' || provider.readsForeignSeals) return;
  throw ApiError.of(
    'unsupported_value',
    `Unsupported value: 'enabled' is not supported with the '${model.id}' model. Supported values are: 'auto' and 'disabled'.`,
    { param: 'image.context_compression' },
  );
}
