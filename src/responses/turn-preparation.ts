import { Injectable } from '@nestjs/common';

import { ContextResolver, type Continuation, type Continuations, type Conversation } from '../context/index.js';
import { ApiError, type ResponseSettings } from '../protocol/index.js';
import {
  type ModelInfo,
  type ModelProviderBase,
  type ModelRoute,
  ProviderRegistry,
  type Turn,
} from '../providers/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { ContextWindow } from './context-window.js';

/** A turn with everything it needs to run. */
export interface PreparedTurn {
  readonly turn: Turn;
  readonly provider: ModelProviderBase;
  readonly providerName: string;
  /** What the model sees before it answers. */
  readonly conversation: Conversation;
  readonly parent: Continuation | null;
  /** The session that the response will belong to. */
  readonly sessionId: string;
}

/** Finds a turn's model and context: the last point at which it can be refused for what it asks. */
@Injectable()
export class TurnPreparation {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly contexts: ContextResolver,
    private readonly window: ContextWindow,
  ) {}

  /** Where the turn's model is. Throws ApiError 404 for an unknown one. */
  route({ settings }: AdmittedTurn): ModelRoute {
    return this.providers.route(settings.model);
  }

  /**
   * Throws ApiError for an unknown parent, items that do not fit together or do not fit the model's window, and efforts the
   * model does not have.
   */
  async prepare(admitted: AdmittedTurn, route: ModelRoute, remembered?: Continuations): Promise<PreparedTurn> {
    const { responseId, settings, parameters, include, headers, caller, session } = admitted;
    const { provider, providerName, model } = route;
    const { input, conversation, parent } = await this.contexts.resolve(
      caller.owner,
      settings.previous_response_id,
      admitted.input,
      { within: session?.id, remembered },
    );
    refuseUnsupportedEffort(settings, model);
    const whole: Turn = {
      responseId,
      input,
      settings,
      parameters,
      include,
      headers,
      parent: parent === null ? null : { responseId: parent.responseId, origin: parent.origin },
      get context() {
        return conversation.items;
      },
    };
    const turn = model.contextWindow === undefined ? whole : { ...whole, context: await this.window.fit(whole, route) };
    const sessionId = session?.id ?? parent?.sessionId ?? responseId;
    return { turn, provider, providerName, conversation, parent, sessionId };
  }
}

/** Protocol §2, step 8: of all settings only the effort is checked against the model. */
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
