import { Injectable } from '@nestjs/common';

import { configure, ModelContexts, type ModelContext, type TurnContext } from '../../context/index.js';
import { type TraceContext, withoutUpstream } from '../../protocol/index.js';
import type { ModelRoute, Turn, WholeTurn } from '../../providers/index.js';
import { andThen, type MaybePromise } from '../../time/index.js';
import type { AdmittedTurn } from './admit.js';
import { type AskingTurn, GivenFiles } from './given-files.js';
import { ContextWindow } from './context-window.js';
import { UpstreamTraces } from './upstream-traces.js';

/** What a question is made of. */
type Material = Pick<TurnContext, 'input' | 'transcript'> & Pick<Turn, 'parent'>;

/** Makes what models are asked: turns with what their models see. */
@Injectable()
export class Questions {
  constructor(
    private readonly contexts: ModelContexts,
    private readonly window: ContextWindow,
    private readonly traces: UpstreamTraces,
    private readonly files: GivenFiles,
  ) {}

  /** A turn for its provider. Throws like `ModelContexts.open` and `GivenFiles.fill`. */
  make(turn: AskingTurn, route: ModelRoute, sessionId: string, material: Material): MaybePromise<Turn> {
    const { admitted } = turn;
    const { caller, settings } = admitted;
    const { transcript, input, parent } = material;
    const context = this.contexts.open(transcript, input, {
      tenant: caller.tenant,
      readsForeignSeals: route.provider.readsForeignSeals,
      takesOpaqueData: route.provider.takesOpaqueData,
      keepsTriggers: route.provider.compactsContexts,
      reasoning: settings.reasoning?.context,
      history: settings.conversation == null ? 'previous_response_id' : 'conversation',
    });
    const trace = this.traces.of(admitted);
    const ask = (opened: ModelContext): Turn => {
      const configured = transcript.marks.mayConfigure ? configure(settings, opened.items) : settings;
      const asked = configured === settings ? admitted : { ...admitted, settings: configured };
      return new Question(asked, sessionId, trace, opened, parent);
    };
    if (!transcript.marks.mayHoldFiles) return andThen(context, ask);
    const filled = andThen(context, (opened) => this.files.fill(turn, route.provider, opened));
    return andThen(filled, ask);
  }

  /** The turn with the part of its context that fits the window of its model; with all of it, if no part does. */
  async truncate(question: Turn, route: ModelRoute, signal: AbortSignal): Promise<Turn> {
    const fitting = await this.window.fitting(question, route, signal);
    return fitting === undefined ? question : { ...question, context: fitting };
  }

  /** Whether `fit` would leave a question as it is. */
  fitsAnyway(question: Turn, route: ModelRoute): boolean {
    return this.window.fitsAnyway(question, route);
  }

  /** The turn with a context that fits the window of its model. Rejects like `ContextWindow.fit`. */
  async fit(question: Turn, route: ModelRoute, signal: AbortSignal): Promise<Turn> {
    if (route.model.contextWindow === undefined) return question;
    return { ...question, context: await this.window.fit(question, route, signal) };
  }
}

/** The context is only built on access: not every provider needs it. */
class Question implements WholeTurn {
  readonly responseId: string;
  readonly tenant: Turn['tenant'];
  readonly input: Turn['input'];
  readonly settings: Turn['settings'];
  readonly parameters: Turn['parameters'];
  readonly include: Turn['include'];
  readonly headers: Turn['headers'];
  readonly hasOthers: Turn['hasOthers'];
  readonly purpose: Turn['purpose'];
  readonly canApprove: Turn['canApprove'];
  readonly parent: Turn['parent'];

  constructor(
    { responseId, caller, settings, parameters, include, headers, givesMessages = false }: AdmittedTurn,
    readonly sessionId: string,
    readonly trace: TraceContext | undefined,
    private readonly visible: ModelContext,
    parent: Turn['parent'],
  ) {
    this.responseId = responseId;
    this.tenant = caller.tenant;
    this.input = visible.input;
    this.settings = settings;
    this.parameters = parameters;
    this.include = include;
    this.headers = headers;
    this.canApprove = givesMessages ? false : undefined;
    this.parent = parent === null ? null : { responseId: parent.responseId, origin: originFor(visible, parent) };
  }

  get context(): Turn['context'] {
    return this.visible.items;
  }
}

/** An upstream that keeps the earlier items does not go on behind a compaction that replaces them. */
function originFor(
  { isFresh }: ModelContext,
  { origin }: NonNullable<Turn['parent']>,
): NonNullable<Turn['parent']>['origin'] {
  return isFresh ? withoutUpstream(origin) : origin;
}
