import { fileURLToPath } from 'node:url';

import config, { shared } from '../../jest.config.js';

const rootDir = fileURLToPath(new URL('../../', import.meta.url));

/** The tests with the real Claude Code, which `npm test` leaves out: `npm run test:claude-code` installs it first. */
export default {
  ...config,
  rootDir,
  projects: [
    { ...shared, rootDir, displayName: 'claude-code', testMatch: ['<rootDir>/test/claude-code/**/*.spec.ts'] },
  ],
};
