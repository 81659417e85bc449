#!/usr/bin/env node
import { requireNode } from './node-version.js';

// Loaded only then: old versions cannot load them. The engine is set before `start.js` is compiled.
if (requireNode()) {
  void import('./tune-engine.js').then((engine) => import('./start.js').then(({ run }) => run()).then(engine.endStart));
}
