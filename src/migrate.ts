import { requireNode } from './node-version.js';

// Loaded only then: old versions cannot even parse it.
if (requireNode()) void import('./apply-migrations.js').then(({ applyMigrations }) => applyMigrations());
