import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureArtefact } from './artefact.ts';

/**
 * A process that makes one artefact with a slow, fake builder, for the tests of
 * the cache: `artefact-fixture.ts CACHE KEY LOG MILLISECONDS`. It notes in LOG
 * when it begins and ends, and writes the artefact in two halves.
 */
const [cache = '', key = '', log = '', milliseconds = '0'] = process.argv.slice(2);
const path = await ensureArtefact(cache, {
  name: 'tools/fake',
  key,
  make: async (out) => {
    mkdirSync(out);
    writeFileSync(join(out, 'first'), 'half');
    appendFileSync(log, `begin ${key}\n`);
    await sleep(Number(milliseconds));
    writeFileSync(join(out, 'second'), 'half');
    appendFileSync(log, `end ${key}\n`);
  },
});
process.stdout.write(path);
