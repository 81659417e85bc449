export * from './file-budget.js';
export * from './file-urls.js';
export * from './files.module.js';
export * from './files.service.js';
export * from './media-types.js';
