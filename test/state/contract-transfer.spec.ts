// Slow: moves a whole state between each backend and the next.

import { describeContract } from './describe-contract.js';

describeContract('transfer');
