export * from './siblings.module.js';
export { Siblings, type SiblingTopic } from './siblings.js';
