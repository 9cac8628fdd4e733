import { fileURLToPath } from 'node:url';
import { LANE_EXIT, laneOn } from '../../internal/lane/lane.ts';
import { LANE_USAGE, readOptions, UsageError } from '../../internal/lane/options.ts';

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === 'help') {
      process.stdout.write(LANE_USAGE);
      return 0;
    }
    const source = fileURLToPath(new URL('../ichor/main.ts', import.meta.url));
    const { report, files } = await laneOn(options, [process.execPath, options.ichor ?? source]);
    process.stdout.write(`${report.outcome}: ${files.join(', ')}\n`);
    return LANE_EXIT[report.outcome];
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    if (!(error instanceof UsageError)) return 1;
    process.stderr.write('npm run lane -- --help says more.\n');
    return 2;
  }
}
