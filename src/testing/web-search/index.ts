export * from './fake-searxng.js';
