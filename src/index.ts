/** What a program that embeds or extends Antiphon imports. */
export * from './access/index.js';
export * from './antiphon.module.js';
export * from './bootstrap.js';
export { Environment, EnvironmentError, listenAddress } from './config/index.js';
export { createAdapter } from './http/index.js';
export * from './protocol/index.js';
export * from './providers/index.js';
export * from './providers/simulator/index.js';
export {
  Admission,
  type AdmittedTurn,
  type Release,
  ResponsesService,
  RunningTurns,
  StoredResponsesService,
  type TurnControl,
  TurnObserver,
  type TurnRecord,
} from './responses/index.js';
export * from './state/index.js';
export * from './time/index.js';
