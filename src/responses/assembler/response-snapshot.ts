import type {
  FinalStatus,
  ResponseErrorBody,
  ResponseObject,
  ResponseSettings,
  TerminalStatus,
  Usage,
} from '../../protocol/index.js';
import type { FinishedItem } from './state.js';

/** The members of a response that never change. */
export interface ResponseIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The requested tier; the terminal snapshot shows the actual one (protocol §5). */
  readonly requestedTier: ResponseObject['service_tier'];
  readonly settings: ResponseSettings;
}

/** How a response ended: as its run knows it, or cancelled from outside. */
export interface Outcome<S extends FinalStatus = TerminalStatus> {
  readonly status: S;
  readonly usage: Usage | null;
  /** Why it is incomplete: a reason of the protocol, or what an upstream says instead. */
  readonly incompleteReason?: string;
  /** The service tier that an upstream used; default: the one that was asked for. */
  readonly serviceTier?: string;
  readonly error?: ResponseErrorBody;
}

/** A Response in its final form. */
export type FinalResponse<S extends FinalStatus = TerminalStatus> = ResponseObject & { readonly status: S };

/** A status before the end. */
export type EarlyStatus = 'queued' | 'in_progress';

/** The members of a Response that change while it runs. */
type ChangingMembers = Omit<ResponseObject, keyof ResponseSettings>;

const NO_IMAGE_TOKENS = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { image_tokens: 0, text_tokens: 0 },
  total_tokens: 0,
};

const NO_TOOLS = toToolUsage(0);
const NO_TOOLS_JSON = JSON.stringify(NO_TOOLS);

/** Renders a Response at its start and its end, as object and as JSON text; the settings are serialised once. */
export class ResponseSnapshots {
  private settings: string | null = null;
  private readonly atStart: Partial<Record<EarlyStatus, string>> = {};

  constructor(private readonly identity: ResponseIdentity) {}

  /** The complete Response of `response.created`, `response.queued` and `response.in_progress`. */
  startJson(status: EarlyStatus): string {
    this.atStart[status] ??= `${this.toJson(this.changing({ status, usage: null }, [], null), [])}}`;
    return this.atStart[status];
  }

  /** The Response of `response.queued`. */
  queued(): ResponseObject {
    return { ...this.changing({ status: 'queued', usage: null }, [], null), ...this.identity.settings };
  }

  /** The final Response, with its output and how often the web was searched for it. */
  final<S extends FinalStatus>(
    outcome: Outcome<S>,
    { output, searches }: { readonly output: readonly FinishedItem[]; readonly searches: number },
    now: number,
  ): FinalResponse<S> {
    const items = output.map(({ item }) => item);
    // The clock may have been set back since, or be that of another process.
    const completedAt = outcome.status === 'completed' ? Math.max(now, this.identity.createdAt) : null;
    const members = this.changing(outcome, items, completedAt);
    if (searches > 0) members.tool_usage = toToolUsage(searches);
    return { ...members, status: outcome.status, ...this.identity.settings };
  }

  private changing(
    outcome: Omit<Outcome, 'status'> & { readonly status: FinalStatus | EarlyStatus },
    output: ResponseObject['output'],
    completedAt: number | null,
  ): ChangingMembers {
    const { id, createdAt, requestedTier } = this.identity;
    const { incompleteReason: reason, serviceTier = resolveTier(requestedTier) } = outcome;
    return {
      id,
      object: 'response',
      created_at: createdAt,
      status: outcome.status,
      completed_at: completedAt,
      error: outcome.error ?? null,
      incomplete_details: (reason === undefined ? null : { reason }) as ResponseObject['incomplete_details'],
      service_tier: isEarly(outcome.status) ? requestedTier : (serviceTier as ResponseObject['service_tier']),
      output,
      usage: outcome.usage,
      tool_usage: NO_TOOLS,
    };
  }

  /**
   * A Response as JSON text without its closing brace, built from the texts of its items. Twice as fast as
   * `JSON.stringify`.
   */
  toJson(members: ChangingMembers, output: readonly FinishedItem[]): string {
    const { id, created_at, status, completed_at, error, incomplete_details, service_tier, usage, tool_usage } =
      members;
    this.settings ??= JSON.stringify(this.identity.settings).slice(1, -1);
    let items = '';
    for (const { json } of output) items += items === '' ? json : `,${json}`;
    return (
      `{"id":${JSON.stringify(id)},"object":"response","created_at":${created_at},"status":"${status}"` +
      `,"completed_at":${completed_at},"error":${orNull(error)},"incomplete_details":${orNull(incomplete_details)}` +
      `,"service_tier":${orNull(service_tier)},"output":[${items}],"usage":${orNull(usage)}` +
      `,"tool_usage":${tool_usage === NO_TOOLS ? NO_TOOLS_JSON : JSON.stringify(tool_usage)},${this.settings}`
    );
  }
}

function toToolUsage(searches: number): ResponseObject['tool_usage'] {
  return { image_gen: NO_IMAGE_TOKENS, web_search: { num_requests: searches } };
}

function isEarly(status: FinalStatus | EarlyStatus): status is EarlyStatus {
  return status === 'queued' || status === 'in_progress';
}

function orNull(value: object | string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

/** `auto` becomes `default`, and `fast` is an alias of `priority` (protocol §2). */
function resolveTier(requested: ResponseObject['service_tier']): ResponseObject['service_tier'] {
  if (requested === 'auto' || requested === null) return 'default';
  return requested === 'fast' ? 'priority' : requested;
}
