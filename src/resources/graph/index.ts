export * from './graph.module.js';
