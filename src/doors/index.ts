export * from './doors.module.js';
export { type AnthropicModelList, toAnthropicModel, toAnthropicModels } from './messages/models.js';
