export { BackgroundWorker } from './background/background-worker.js';
export {
  CreateRequestBody,
  IncludeParameters,
  inputItem,
  ItemsParameters,
  metadata,
  validateIncludeQuery,
  validateItemsQuery,
} from './dto/index.js';
export { HttpTurns, type TranslatedBody, transportOf } from './http/http-turns.js';
export { obfuscationOf, type StreamForm } from './http/sse-encoder.js';
export { TURN_ERRORS } from './http/turn-errors.js';
export * from './responses.module.js';
export * from './responses.service.js';
export * from './stored-responses.service.js';
export { ActiveTurn, type TurnClient } from './turn/active-turn.js';
export { ClientTraces, type TracedTurn, UpstreamTraces } from './turn/upstream-traces.js';
export { Admission, type AdmittedEmbedding, type Lease, type QueuedTurn } from './turn/admission.js';
export type { AdmittedTurn } from './turn/admit.js';
export {
  type AnsweringTurn,
  type AskedTurn,
  type BegunTurn,
  type Door,
  OBSERVERS,
  type ToolRun,
  type Transport,
  TurnObserver,
  type TurnRecord,
} from './turn/turn-observer.js';
export type { EndedTurn } from './turn/save.js';
export type { EventSink } from './turn/event-sink.js';
export {
  type FinishedPass,
  type NextPass,
  type OwnPass,
  type PassesLeft,
  PassPolicy,
  type TurnPolicy,
} from './turn/pass-policy.js';
export { PASS_POLICIES } from './turn/turn-policies.js';
export { RunningTurns } from './turn/running-turns.js';
export type { StopReason } from './turn/stop-reason.js';
export { toItems } from './turn/to-items.js';
export { TurnEstimate } from './turn/turn-estimate.js';
export { UsageRecords } from './turn/usage-records.js';
