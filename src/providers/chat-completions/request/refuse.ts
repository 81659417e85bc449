import { ModelError } from '../../model-error.js';

/** Throws ModelError 400 `unsupported_value` for a parameter. Routing may retry at another upstream. */
export function refuse(param: string, message: string): never {
  throw new ModelError('unsupported_value', message, { status: 400, param, retry: 'other' });
}

/** Throws ModelError 400 `invalid_encrypted_content` for a compaction that only another upstream can open. */
export function refuseCompaction(): never {
  const message =
    'This model cannot open compaction items of another service. Send the items that they stand for instead.';
  throw new ModelError('invalid_encrypted_content', message, { status: 400, param: 'input', retry: 'other' });
}
