import { ModelError } from '../../model-error.js';

/** Throws ModelError 400 `unsupported_value` for a parameter. Routing may retry at another upstream. */
export function refuse(param: string, message: string): never {
  throw new ModelError('unsupported_value', message, { status: 400, param, retry: 'other' });
}
