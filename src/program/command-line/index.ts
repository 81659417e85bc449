export { ArgumentError } from './argument.js';
export * from './arguments.js';
export type { ExportCommand, ImportCommand } from './export-arguments.js';
export * from './help.js';
export type { KeysCommand } from './keys-arguments.js';
