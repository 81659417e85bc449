/** The public API for programs that embed or extend Antiphon. */
export {
  AccessModule,
  ApiKeyGuard,
  asTenant,
  Authenticator,
  type Caller,
  CurrentCaller,
  EnvironmentAuthenticator,
  type Grant,
  RequireScope,
  requireScope,
  type Scope,
  SCOPES,
  type Tenant,
  tenantKey,
} from './access/index.js';
export * from './antiphon.module.js';
export * from './http/api-docs/index.js';
export type { AntiphonAsyncOptions, AntiphonOptions, AntiphonSeams } from './antiphon-options.js';
export * from './bootstrap.js';
export { Environment, EnvironmentError, listenAddress, VariableSource } from './config/index.js';
export {
  type Connection,
  connectionOf,
  ConnectionRegistry,
  type LaneSummary,
  type StopCause,
} from './connections/index.js';
export type { Continuation, Continuations, Transcript } from './context/index.js';
export { createAdapter } from './http/index.js';
export { LimitedAdmission } from './access/quotas/index.js';
export {
  type InjectedTools,
  type JsonInput,
  type McpProgress,
  type McpToolAnnotations,
  ServerTool,
  type ServerToolContext,
  ServerToolError,
  type ServerToolHandler,
  type ServerToolOptions,
  type ServerToolPart,
  type ServerToolResult,
  type StandardInput,
  type StandardResult,
} from './tools/mcp/index.js';
export * from './protocol/index.js';
export * from './providers/index.js';
export * from './providers/responses/index.js';
export {
  ActiveTurn,
  Admission,
  type AdmittedTurn,
  type AnsweringTurn,
  type AskedTurn,
  type BegunTurn,
  type EndedTurn,
  type EventSink,
  type FinishedPass,
  type Lease,
  type NextPass,
  type OwnPass,
  type PassesLeft,
  PassPolicy,
  type QueuedTurn,
  ResponsesService,
  RunningTurns,
  type StopReason,
  StoredResponsesService,
  type Transport,
  type TurnClient,
  type TurnEstimate,
  TurnObserver,
  type TurnPolicy,
  type TurnRecord,
} from './responses/index.js';
export type { Seam } from './seams/index.js';
export { ErrorEventFilter, SocketAdapter } from './responses/socket/index.js';
export * from './simulator/index.js';
export * from './state/index.js';
export { Reranker, type RerankOptions } from './files/vector-stores/index.js';
export {
  type EngineOptions,
  type EnginePage,
  type SearchQuery,
  type SearchResult,
  type UserLocation,
  WebSearchEngine,
  WebSearchError,
} from './tools/web-search/index.js';
export { Clock, type LocalTime, type MaybePromise, SharedClock, SystemClock, type Timer } from './time/index.js';
