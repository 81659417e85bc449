import { recordOfStrings } from '../../validation/index.js';

/** `metadata` of responses and conversations (protocol §2). */
export const metadata = recordOfStrings({
  expected: 'a metadata object',
  maxProperties: 16,
  maxNameLength: 64,
  maxValueLength: 512,
});
