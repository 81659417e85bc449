export * from './conversations.module.js';
