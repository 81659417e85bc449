// Slow: opens each backend for each of its cases.

import { describeContract } from './describe-contract.js';

describeContract('jobs');
