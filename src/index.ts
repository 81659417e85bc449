/** What a program that embeds or extends Antiphon imports. */
export * from './access/index.js';
export * from './antiphon.module.js';
export * from './bootstrap.js';
export { Environment, EnvironmentError, listenAddress } from './config/index.js';
export { type Connection, ConnectionRegistry, type LaneSummary, type StopCause } from './connections/index.js';
export type { Continuation, Continuations, Transcript } from './context/index.js';
export { createAdapter } from './http/index.js';
export * from './protocol/index.js';
export * from './providers/index.js';
export {
  ActiveTurn,
  Admission,
  type AdmittedTurn,
  type EndedTurn,
  type EventSink,
  type FinishedPass,
  PassPolicy,
  type Release,
  ResponsesService,
  RunningTurns,
  type StopReason,
  StoredResponsesService,
  type TurnClient,
  TurnObserver,
  type TurnPolicy,
  type TurnRecord,
} from './responses/index.js';
export { SocketAdapter } from './responses/socket/index.js';
export * from './simulator/index.js';
export * from './state/index.js';
export { Clock, type MaybePromise, SystemClock, TimeModule, type Timer } from './time/index.js';
