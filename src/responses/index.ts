export { BackgroundWorker } from './background/index.js';
export {
  IncludeParameters,
  inputItem,
  ItemsParameters,
  metadata,
  typeOfItem,
  validateIncludeQuery,
  validateItemsQuery,
} from './dto/index.js';
export * from './responses.module.js';
export * from './responses.service.js';
export * from './stored-responses.service.js';
export {
  ActiveTurn,
  ClientTraces,
  Admission,
  type AdmittedTurn,
  type AnsweringTurn,
  type BegunTurn,
  type EndedTurn,
  type EventSink,
  type FinishedPass,
  type Lease,
  type NextPass,
  OBSERVERS,
  type OwnPass,
  PASS_POLICIES,
  PassPolicy,
  type QueuedTurn,
  RunningTurns,
  type StopReason,
  toItems,
  type Transport,
  type TurnClient,
  TurnEstimate,
  TurnObserver,
  type TurnPolicy,
  type TurnRecord,
  UpstreamTraces,
  UsageRecords,
} from './turn/index.js';
