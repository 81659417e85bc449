import { ModelError } from '../../model-error.js';

/** Refuses what this model's server has no way to take: a 400 that names the parameter. Another server may take it. */
export function refuse(param: string, message: string): never {
  throw new ModelError('unsupported_value', message, { status: 400, param, retry: 'other' });
}
