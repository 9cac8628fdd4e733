import { resolve } from 'node:path';
import {
  CA_TARGETS,
  type CaTarget,
  DEFAULT_CA_TARGETS,
  isCaTarget,
  type OperationSpec,
  sortCaTargets,
} from '../../../api/v1alpha1/index.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../rotation/context.ts';
import { CliError } from '../cli-error.ts';
import { flag, list, type OptionValues, text } from '../command.ts';
import type { SpecChange } from '../operations.ts';

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
  /** What becomes of endpoints that cannot be tried at the end; absent: they are held for. */
  readonly unreachableEndpoints?: OperationSpec['unreachableEndpoints'];
  /** Absolute path of the program that is asked around each reboot; absent: none, or the one of the operation that is gone on with. */
  readonly evacuationHook?: OperationSpec['evacuationHook'];
  /** What of the above was given by name: an operation that is gone on with takes that, and keeps the rest. */
  readonly given: Omit<SpecChange, 'paused'>;
  /** How long things are watched that must stay as they are; absent: the two minutes of the design. */
  readonly settleMs?: number;
}

/** Reads the options of `rotate-ca`. Errors: `usage`. */
export function readRequest(options: OptionValues, workingDirectory: string): RotateRequest {
  const named = list(options, 'ca');
  const all = flag(options, 'all');
  if (all && named !== undefined) throw new CliError('usage', '--all and --ca exclude each other');
  const unknown = named?.find((each) => !isCaTarget(each));
  if (unknown !== undefined) {
    throw new CliError(
      'usage',
      `--ca: there is no certificate authority "${unknown}"; expected some of ${CA_TARGETS.join(', ')}`,
    );
  }
  const chosen = all ? CA_TARGETS : named?.filter(isCaTarget);
  const previousBundle = text(options, 'previousBundle');
  const given: RotateRequest['given'] = {
    ...(flag(options, 'restartWorkloads') && { restartWorkloads: 'Rolling' }),
    ...(previousBundle !== undefined && { previousBundle: previousBundle === 'remove' ? 'Remove' : 'Archive' }),
    ...unreachableOf(options),
    ...evacuationHookOf(options, workingDirectory),
  };
  return {
    targets: sortCaTargets(chosen ?? DEFAULT_CA_TARGETS),
    isChosen: chosen !== undefined,
    yes: flag(options, 'yes'),
    follow: flag(options, 'follow'),
    dryRun: flag(options, 'dryRun'),
    restartWorkloads: 'Never',
    previousBundle: 'Archive',
    ...given,
    given,
    ...settleOf(text(options, 'settle')),
  };
}

/** What `--unreachable-endpoints` says; nothing where it is not given. */
export function unreachableOf(options: OptionValues): Pick<OperationSpec, 'unreachableEndpoints'> {
  const choice = text(options, 'unreachableEndpoints');
  return choice === undefined ? {} : { unreachableEndpoints: choice === 'report' ? 'Report' : 'Hold' };
}

/** What `--evacuation-hook` says; nothing where it is not given. Errors: `usage`. */
export function evacuationHookOf(
  options: OptionValues,
  workingDirectory: string,
): Pick<OperationSpec, 'evacuationHook'> {
  const given = text(options, 'evacuationHook');
  if (given === undefined) return {};
  const evacuationHook = resolve(workingDirectory, given);
  if (!/\p{C}/u.test(evacuationHook)) return { evacuationHook };
  throw new CliError('usage', '--evacuation-hook: the path holds control characters', 'Nothing was done.');
}

/** The settings of the engine for what was asked; the design's where nothing else was. */
export function settingsOf({ settleMs }: Pick<RotateRequest, 'settleMs'>): Settings {
  if (settleMs === undefined) return DEFAULT_SETTINGS;
  return { ...DEFAULT_SETTINGS, aggregatorSettleMs: settleMs, authenticationWatchMs: settleMs };
}

/** `2s`, `90s` or `2m`, and never longer than what the design waits. */
function settleOf(given: string | undefined): { readonly settleMs?: number } {
  if (given === undefined) return {};
  const match = /^(\d+)(s|m)$/.exec(given);
  const settleMs = Number(match?.[1]) * (match?.[2] === 'm' ? 60_000 : 1_000);
  if (match !== null && settleMs >= 1_000 && settleMs <= DEFAULT_SETTINGS.aggregatorSettleMs) return { settleMs };
  throw new CliError(
    'usage',
    `--settle: expected 1s to ${DEFAULT_SETTINGS.aggregatorSettleMs / 1_000}s; "${given}" was given`,
  );
}

/** The spec of the operation that does it. */
export function specOf(request: RotateRequest): OperationSpec {
  return {
    type: 'CARotation',
    caRotation: { targets: [...request.targets] },
    paused: false,
    restartWorkloads: request.restartWorkloads,
    previousBundle: request.previousBundle,
    ...(request.unreachableEndpoints !== undefined && { unreachableEndpoints: request.unreachableEndpoints }),
    ...(request.evacuationHook !== undefined && { evacuationHook: request.evacuationHook }),
  };
}
