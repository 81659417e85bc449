export * from './doors.module.js';
export { anthropicForm } from './messages/errors.js';
export { type AnthropicModelList, toAnthropicModel, toAnthropicModels } from './messages/models.js';
