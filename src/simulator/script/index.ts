export { listSteps } from './plan-script.js';
export { type NamedScript, readScript, readScripts, requireNamedScript } from './read-script.js';
export type { RefusalKind } from '../faults.js';
export type { ScriptError, ScriptFile, ScriptText, ScriptTurn } from './script-file.js';
export { TURN_SCHEMA } from './script-file.js';
