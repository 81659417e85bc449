export { exportState, type ExportOptions } from './export-state.js';
export { importState, type Imported, type ImportOptions } from './import-state.js';
export type { Moved } from './moved.js';
