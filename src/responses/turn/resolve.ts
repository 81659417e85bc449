import { Injectable } from '@nestjs/common';

import {
  ContextResolver,
  type Continuation,
  ConversationGate,
  type ReadConversation,
  Transcript,
  type TurnContext,
} from '../../context/index.js';
import { ApiError, type Item, type Origin, type ResponseSettings } from '../../protocol/index.js';
import { HostedTools, type ModelInfo, type ModelRoute, ProviderRegistry, type Turn } from '../../providers/index.js';
import { type ConversationPlace, ResponseStore, type StartedRun } from '../../state/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import type { AdmittedTurn } from './admit.js';
import { ContextWindow } from './context-window.js';

/** A turn with its model and context. */
export interface ResolvedTurn {
  readonly route: ModelRoute;
  /** The input of the first pass. */
  readonly question: Turn;
  /** The transcript before the answer. */
  readonly transcript: Transcript;
  readonly parent: Continuation | null;
  /** The conversation that the response is appended to, as it was read. */
  readonly conversation: ConversationPlace | null;
  /** The session of the response. */
  readonly sessionId: string;
}

/** Resolves the model and the context of a turn: the last step that can refuse its request. */
@Injectable()
export class TurnResolver {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly store: ResponseStore,
    private readonly contexts: ContextResolver,
    private readonly conversations: ConversationGate,
    private readonly window: ContextWindow,
    private readonly hostedTools: HostedTools,
  ) {}

  /**
   * Throws ApiError for an unknown model or parent, for items that do not fit together or into the model's window, and
   * for unsupported efforts and tools; StoreUnavailableError when the store is known to be unavailable.
   */
  resolve(turn: ActiveTurn): MaybePromise<ResolvedTurn> {
    const { admitted } = turn;
    const route = this.providers.route(admitted.settings.model);
    turn.chose(route.providerName);
    turn.isSteerable = route.model.steerable ?? route.provider.isSteerable;
    const mustBeSaved = admitted.settings.store || admitted.settings.background === true;
    const expecting = mustBeSaved ? this.store.expectSave() : undefined;
    if (isPromise(expecting)) return expecting.then(() => this.resolveContext(turn, route));
    return this.resolveContext(turn, route);
  }

  /** The input of the next pass, after items were given to the model. */
  resolveNext(
    { admitted, signal }: ActiveTurn,
    { route, sessionId }: ResolvedTurn,
    given: readonly Item[],
    transcript: Transcript,
    origin: Origin | null,
  ): Promise<Turn> {
    const parent = { responseId: admitted.responseId, origin };
    return this.fit(toQuestion(admitted, sessionId, { input: given, transcript, parent }), route, signal);
  }

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
    // It does not run yet: only its request is checked.
    return this.conversations.read(caller.tenant, settings.conversation.id).then(resolveFrom);
  }

  private toResolved(
    { admitted, signal, run }: ActiveTurn,
    route: ModelRoute,
    context: TurnContext,
  ): MaybePromise<ResolvedTurn> {
    refuseUnsupportedEffort(admitted.settings, route.model);
    const { transcript, parent, conversation } = context;
    const own = conversation?.id ?? parent?.sessionId ?? admitted.responseId;
    const sessionId = run?.started.sessionId ?? admitted.session?.id ?? own;
    const question = toQuestion(admitted, sessionId, context);
    this.hostedTools.check(route, question);
    const resolved = { route, question, transcript, parent, conversation, sessionId };
    if (route.model.contextWindow === undefined) return resolved;
    return this.fit(question, route, signal).then((fitting) => ({ ...resolved, question: fitting }));
  }

  private async fit(question: Turn, route: ModelRoute, signal: AbortSignal): Promise<Turn> {
    if (route.model.contextWindow === undefined) return question;
    return { ...question, context: await this.window.fit(question, route, signal) };
  }
}

/** The stored context of a background turn. */
function toContext({ context, input, parent, sessionId }: StartedRun): TurnContext {
  const transcript = Transcript.of(context);
  return {
    input,
    transcript: transcript.append(input),
    parent: parent && { ...parent, transcript, conversation: null, sessionId },
    conversation: null,
  };
}

/** A turn for its provider. The transcript is only copied on access: not every provider needs it. */
function toQuestion(
  { responseId, caller, settings, parameters, include, headers }: AdmittedTurn,
  sessionId: string,
  { input, transcript, parent }: Pick<TurnContext, 'input' | 'transcript'> & Pick<Turn, 'parent'>,
): Turn {
  return {
    responseId,
    tenant: caller.tenant,
    sessionId,
    input,
    settings,
    parameters,
    include,
    headers,
    parent: parent === null ? null : { responseId: parent.responseId, origin: parent.origin },
    get context() {
      return transcript.items;
    },
  };
}

/** Protocol §2, step 8: the effort is the only setting that is checked against the model. */
function refuseUnsupportedEffort({ reasoning }: ResponseSettings, { id, reasoningEfforts }: ModelInfo): void {
  const effort = reasoning?.effort ?? null;
  if (effort === null || reasoningEfforts === undefined || reasoningEfforts.includes(effort)) return;
  if (reasoningEfforts.length === 0) {
    throw ApiError.of(
      'unsupported_parameter',
      `Unsupported parameter: 'reasoning.effort' is not supported with this model.`,
      { param: 'reasoning.effort' },
    );
  }
  const supported = new Intl.ListFormat('en').format(reasoningEfforts.map((known) => `'${known}'`));
  throw ApiError.of(
    'unsupported_value',
    `Unsupported value: '${effort}' is not supported with the '${id}' model. Supported values are: ${supported}.`,
    { param: 'reasoning.effort' },
  );
}
