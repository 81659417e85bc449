#!/usr/bin/env node
import './tune-engine.js';

import { requireNode } from './node-version.js';

// Loaded only then: old versions cannot even parse it.
if (requireNode()) void import('./start.js');
