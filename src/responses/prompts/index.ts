export * from './prompts.js';
export type { Prompt, PromptVersion } from './prompts-file.js';
