export * from './console-files.js';
export * from './console-page.js';
export * from './console.module.js';
