export * from './responses.module.js';
export * from './responses.service.js';
export * from './stored-responses.service.js';
export {
  ActiveTurn,
  Admission,
  type AdmittedTurn,
  type EndedTurn,
  type EventSink,
  type FinishedPass,
  PassPolicy,
  type Release,
  RunningTurns,
  type StopReason,
  type TurnClient,
  TurnObserver,
  type TurnPolicy,
  type TurnRecord,
} from './turn/index.js';
