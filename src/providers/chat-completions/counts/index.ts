export * from './token-route.js';
