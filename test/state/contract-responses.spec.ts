// Slow: opens each backend for each of its cases about deletion.

import { describeContract } from './describe-contract.js';

describeContract('responses', 'notices');
