import type {
  IncompleteReason,
  ResponseErrorBody,
  ResponseObject,
  ResponseSettings,
  TerminalStatus,
  Usage,
} from '../../protocol/index.js';
import type { FinishedItem } from './output-item.js';

/** What names a response for life. */
export interface ResponseIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The tier the client asked for; the terminal snapshot says which one it got (protocol §5). */
  readonly requestedTier: ResponseObject['service_tier'];
  readonly settings: ResponseSettings;
}

/** How a turn ended. */
export interface Outcome {
  readonly status: TerminalStatus;
  readonly usage: Usage | null;
  readonly incompleteReason?: IncompleteReason;
  readonly error?: ResponseErrorBody;
}

/** The members of a Response that change while it runs. */
type ChangingMembers = Omit<ResponseObject, keyof ResponseSettings>;

const NO_IMAGE_TOKENS = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { image_tokens: 0, text_tokens: 0 },
  total_tokens: 0,
};

/** Shows a Response at its start and at its end, as an object and as text; the settings are turned into text once. */
export class ResponseSnapshots {
  private settingsJson: string | null = null;
  private atStart: string | null = null;

  constructor(private readonly identity: ResponseIdentity) {}

  /** `response.created` and `response.in_progress`. */
  startJson(): string {
    this.atStart ??= this.toJson(this.changing({ status: 'in_progress', usage: null }, [], null), []);
    return this.atStart;
  }

  final(outcome: Outcome, output: readonly FinishedItem[], now: number): ResponseObject & { status: TerminalStatus } {
    const items = output.map(({ item }) => item);
    const completedAt = outcome.status === 'completed' ? now : null;
    return { ...this.changing(outcome, items, completedAt), status: outcome.status, ...this.identity.settings };
  }

  /** The text of `final()`'s object, made from the texts of its items. */
  finalJson(response: ResponseObject, output: readonly FinishedItem[]): string {
    return this.toJson(response, output);
  }

  private changing(
    outcome: Omit<Outcome, 'status'> & { status: TerminalStatus | 'in_progress' },
    output: ResponseObject['output'],
    completedAt: number | null,
  ): ChangingMembers {
    const { id, createdAt, requestedTier } = this.identity;
    const reason = outcome.incompleteReason;
    return {
      id,
      object: 'response',
      created_at: createdAt,
      status: outcome.status,
      completed_at: completedAt,
      error: outcome.error ?? null,
      incomplete_details: reason === undefined ? null : { reason },
      service_tier: outcome.status === 'in_progress' ? requestedTier : resolveTier(requestedTier),
      output,
      usage: outcome.usage,
      tool_usage: { image_gen: NO_IMAGE_TOKENS, web_search: { num_requests: 0 } },
    };
  }

  private toJson(members: ChangingMembers, output: readonly FinishedItem[]): string {
    this.settingsJson ??= JSON.stringify(this.identity.settings).slice(1);
    const { id, object, created_at, status, completed_at, error, incomplete_details, service_tier } = members;
    const head = JSON.stringify({
      id,
      object,
      created_at,
      status,
      completed_at,
      error,
      incomplete_details,
      service_tier,
    });
    const tail = JSON.stringify({ usage: members.usage, tool_usage: members.tool_usage });
    const items = output.map(({ json }) => json).join(',');
    return `${head.slice(0, -1)},"output":[${items}],${tail.slice(1, -1)},${this.settingsJson}`;
  }
}

/** `auto` becomes the tier that really served, and `fast` is the request's name for `priority` (protocol §2). */
function resolveTier(requested: ResponseObject['service_tier']): ResponseObject['service_tier'] {
  if (requested === 'auto' || requested === null) return 'default';
  return requested === 'fast' ? 'priority' : requested;
}
