/** Saves through the service's store, without HTTP. */
import { asTenant, createApp, ResponseStore, SimulatorModule } from 'antiphon';

import { runSaves } from './run-saves.ts';

const app = await createApp({ imports: [SimulatorModule] });
await app.init();
const store = app.get(ResponseStore, { strict: false });
runSaves((record) => () => store.save(asTenant('bench'), record));
