import type { ModelEvent } from '../model-event.js';
import { redactDeeply, redactPieces } from '../redact.js';
import type { RecordedStep } from './tape.js';

type Delta = Extract<ModelEvent, { readonly delta: string }>;

/** Redacts credentials in the steps of a turn, including those that span several deltas. */
export function redactSteps(steps: readonly RecordedStep[], secrets: readonly string[]): readonly RecordedStep[] {
  const deltas = redactDeltas(
    steps.flatMap(({ events = [] }) => events.filter(isDelta)),
    secrets,
  );
  const redactEvent = (event: ModelEvent): ModelEvent =>
    (isDelta(event) ? deltas.get(event) : undefined) ?? redactMembers(event, secrets);
  return steps.map(({ events, error, ...step }) => ({
    ...step,
    ...(events === undefined ? {} : { events: events.map(redactEvent) }),
    ...(error === undefined ? {} : { error: redactDeeply(error, secrets) as object }),
  }));
}

function redactDeltas(deltas: readonly Delta[], secrets: readonly string[]): ReadonlyMap<ModelEvent, Delta> {
  const redacted = new Map<ModelEvent, Delta>();
  for (const text of Map.groupBy(deltas, ({ type, key }) => `${type} ${key ?? ''}`).values()) {
    const pieces = redactPieces(
      text.map(({ delta }) => delta),
      secrets,
    );
    for (const [index, event] of text.entries()) redacted.set(event, withDelta(event, pieces[index] ?? ''));
  }
  return redacted;
}

/** Replaces a delta. Log probabilities are dropped with it, because they repeat the text. */
function withDelta(event: Delta, delta: string): Delta {
  if (delta === event.delta) return event;
  return event.type === 'text' ? { ...event, delta, logprobs: [] } : { ...event, delta };
}

/** Redacts all members except `type`, `key` and `callId`, which link events. */
function redactMembers(event: ModelEvent, secrets: readonly string[]): ModelEvent {
  const { type, key, callId } = event as { readonly type: string; readonly key?: string; readonly callId?: string };
  const members = redactDeeply(event, secrets) as object;
  return {
    ...members,
    type,
    ...(key === undefined ? {} : { key }),
    ...(callId === undefined ? {} : { callId }),
  } as ModelEvent;
}

function isDelta(event: ModelEvent): event is Delta {
  return 'delta' in event && typeof event.delta === 'string';
}
