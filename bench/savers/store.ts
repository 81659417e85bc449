/** The store of the service, with nothing in front of it. */
import { asTenant, createApp, ResponseStore, SimulatorModule } from 'antiphon';

import { runSaves } from './run-saves.ts';

const app = await createApp({ imports: [SimulatorModule] });
await app.init();
const store = app.get(ResponseStore, { strict: false });
runSaves((record) => () => store.save(asTenant('bench'), record));
