// Slow: opens each backend for each of its groups.

import { describeContract } from './describe-contract.js';

describeContract('graph');
