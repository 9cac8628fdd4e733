import { createProcessEnvironment } from '../../internal/cli/process-environment.ts';
import { runCli } from '../../internal/cli/run-cli.ts';
import { beginWithSmallHeap } from '../../internal/cli/small-heap.ts';

beginWithSmallHeap(process);
// The exit code is set instead of taken at once, so that what was printed arrives.
process.exitCode = await runCli(process.argv.slice(2), createProcessEnvironment());
