export * from './call-writer.js';
export * from './history-calls.js';
export * from './history-notes.js';
export * from './tool-address.js';
export * from './tool-table.js';
