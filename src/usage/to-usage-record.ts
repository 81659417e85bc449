import type { TurnRecord } from '../responses/index.js';
import { DAY_MS, type UsageRecord } from '../state/index.js';

/** The usage of a turn that is over; undefined for one that was refused before it used anything. */
export function toUsageRecord(turn: TurnRecord, retentionDays: number): UsageRecord | undefined {
  const { responseId, caller, model, provider, transport, background, status, usage } = turn;
  if (status === 'refused' && usage === null) return undefined;
  const endedAt = turn.startedAt + turn.durationMs;
  return {
    ...{ responseId, model, provider, transport, background, status, endedAt },
    tenant: caller.tenant,
    keyId: caller.keyId ?? null,
    expiresAt: endedAt + retentionDays * DAY_MS,
    tokens: {
      input: usage?.input_tokens ?? 0,
      cached: usage?.input_tokens_details.cached_tokens ?? 0,
      output: usage?.output_tokens ?? 0,
      reasoning: usage?.output_tokens_details.reasoning_tokens ?? 0,
    },
  };
}
