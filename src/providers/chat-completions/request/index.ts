export * from './reserved-names.js';
export * from './to-chat-request.js';
export { reasoningOf } from './to-messages.js';
