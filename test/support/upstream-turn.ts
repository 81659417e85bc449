import type { Item } from '../../src/protocol/index.js';
import { type ResponsesEntry, responsesOptions, type Turn } from '../../src/providers/index.js';
import type { ResponsesOptions } from '../../src/providers/responses/index.js';
import { resolveSettings } from '../../src/responses/turn/resolve-settings.js';

/** What is particular about a turn. */
export interface TurnTraits {
  /** Members of the request beside `model` and `input`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly context?: readonly Item[];
  /** Default: the last item of the context. */
  readonly input?: readonly Item[];
  readonly headers?: Turn['headers'];
  readonly tenant?: string;
  readonly sessionId?: string;
  /** The upstream's id of the parent, and the provider that answered it. */
  readonly parent?: { readonly upstreamId: string; readonly provider?: string };
  /** The effort of the model where the request names none. */
  readonly effort?: string;
}

/** A turn as the provider `openai` gets it, after the defaults of the service. */
export function upstreamTurn({ context = [], input = context.slice(-1), ...traits }: TurnTraits = {}): Turn {
  const parameters = { model: 'gpt-5', ...traits.parameters };
  const { parent } = traits;
  return {
    responseId: 'resp_2',
    tenant: traits.tenant ?? 'default',
    sessionId: traits.sessionId ?? 'resp_1',
    input,
    context,
    settings: resolveSettings(parameters, traits.effort ?? null),
    include: (parameters as { include?: Turn['include'] | null }).include ?? [],
    headers: traits.headers ?? {},
    parameters,
    parent:
      parent === undefined
        ? null
        : { responseId: 'resp_1', origin: { provider: parent.provider ?? 'openai', upstreamId: parent.upstreamId } },
  };
}

/** The options of the provider `openai`. */
export function upstreamOptions(entry: Partial<ResponsesEntry> = {}): ResponsesOptions {
  return responsesOptions('openai', { base_url: 'https://api.example.com/v1', ...entry });
}
