import { BUCKETS } from './bucket-fixture.js';
import { describeContract, describeContractOf } from './describe-contract.js';

describeContract('files');
describeContractOf(BUCKETS, 'files');
