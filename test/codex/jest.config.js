import { fileURLToPath } from 'node:url';

import config, { shared } from '../../jest.config.js';

const rootDir = fileURLToPath(new URL('../../', import.meta.url));

/** The tests with the real Codex, which `npm test` leaves out: `npm run test:codex` installs it first. */
export default {
  ...config,
  rootDir,
  projects: [{ ...shared, rootDir, displayName: 'codex', testMatch: ['<rootDir>/test/codex/**/*.spec.ts'] }],
};
