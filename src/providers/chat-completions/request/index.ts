export * from './reserved-names.js';
export * from './to-chat-request.js';
