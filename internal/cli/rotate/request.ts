import {
  CA_TARGETS,
  type CaTarget,
  DEFAULT_CA_TARGETS,
  isCaTarget,
  type OperationSpec,
  sortCaTargets,
} from '../../../api/v1alpha1/index.ts';
import { CliError } from '../cli-error.ts';
import { flag, list, type OptionValues, text } from '../command.ts';

/** What `rotate-ca` was asked to do. */
export interface RotateRequest {
  readonly targets: readonly CaTarget[];
  /** Whether the targets were named, and not the default pair. */
  readonly isChosen: boolean;
  readonly yes: boolean;
  readonly follow: boolean;
  readonly dryRun: boolean;
  readonly restartWorkloads: OperationSpec['restartWorkloads'];
  readonly previousBundle: OperationSpec['previousBundle'];
}

/** Reads the options of `rotate-ca`. Errors: `usage`. */
export function readRequest(options: OptionValues): RotateRequest {
  const named = list(options, 'ca');
  const all = flag(options, 'all');
  if (all && named !== undefined) throw new CliError('usage', '--all and --ca exclude each other');
  if (named !== undefined && named.length === 0) throw new CliError('usage', '--ca names no certificate authority');
  const unknown = named?.find((each) => !isCaTarget(each));
  if (unknown !== undefined) {
    throw new CliError(
      'usage',
      `--ca: there is no certificate authority "${unknown}"; expected some of ${CA_TARGETS.join(', ')}`,
    );
  }
  const chosen = all ? CA_TARGETS : named?.filter(isCaTarget);
  return {
    targets: sortCaTargets(chosen ?? DEFAULT_CA_TARGETS),
    isChosen: chosen !== undefined,
    yes: flag(options, 'yes'),
    follow: flag(options, 'follow'),
    dryRun: flag(options, 'dryRun'),
    restartWorkloads: flag(options, 'restartWorkloads') ? 'Rolling' : 'Never',
    previousBundle: text(options, 'previousBundle') === 'remove' ? 'Remove' : 'Archive',
  };
}

/** The spec of the operation that does it. */
export function specOf(request: RotateRequest): OperationSpec {
  return {
    type: 'CARotation',
    caRotation: { targets: [...request.targets] },
    paused: false,
    restartWorkloads: request.restartWorkloads,
    previousBundle: request.previousBundle,
  };
}
