import { type Access, accessOf } from './access.ts';
import { apiServerPortOf } from './api-server-port.ts';
import { knownOf } from './known.ts';
import type { Change, DriftItem, RenderStage, StageName, Standing } from './model.ts';
import { type RenderOptions, render } from './render.ts';
import { inRenderingOrder, rendererOf } from './targets/index.ts';
import { type MachineConfigView, viewOf } from './view.ts';

/** A configuration, parsed once, for several questions. */
export interface OpenMachineConfig {
  readonly text: string;
  /** See {@link readMachineConfig}. */
  view(): MachineConfigView;
  /** See {@link stageOf}; with the reason where it is `Foreign`. */
  standing(change: Change): Standing;
  /** See {@link drift}. */
  drift(changes: readonly Change[], stage: RenderStage): DriftItem[];
  /** See {@link renderStage}. */
  render(changes: readonly Change[], stage: RenderStage, options: RenderOptions): string;
}

/**
 * Parses a machine configuration.
 *
 * @param where the machine or file, for errors.
 * @throws {MachineConfigError} for text that is no machine configuration.
 */
export function openMachineConfig(config: string, where?: string): OpenMachineConfig {
  const access = accessOf(config, where);
  return {
    text: config,
    view: () => viewOf(access),
    standing: (change) => rendererOf(change).stand(access, change),
    drift: (changes, stage) => driftOf(access, changes, stage),
    render: (changes, stage, options) => render(access, changes, stage, options),
  };
}

/**
 * Everything about keys and trust in a configuration. What makes it unfit to be
 * rendered is listed in `problems`, not thrown.
 *
 * @throws {MachineConfigError} for text that is no machine configuration, and for broken certificates and keys.
 */
export function readMachineConfig(config: string, where?: string): MachineConfigView {
  return viewOf(accessOf(config, where));
}

/**
 * The port of kube-apiserver alone, for who must find it first: what else is broken in
 * the configuration is no reason not to.
 *
 * @throws {MachineConfigError} for text that is no machine configuration; `bad-value` for what is no port.
 */
export function readApiServerPort(config: string, where?: string): number {
  return apiServerPortOf(accessOf(config, where));
}

/**
 * The configuration at a stage: only the fields of the changes differ, every other
 * byte stays. Idempotent, and the same from every stage that it may stand at;
 * targets may be rendered together or one after the other. `Dropping` is the
 * configuration with the new material in the place of the old. Gives back the
 * same string where nothing changes.
 *
 * @throws {MachineConfigError} `foreign-edit` where the fields of a change match
 *   no stage; `needs-newer-talos` where the version has no way to do it;
 *   `two-homes`, `half-migrated`, `worker-holds-key` or `trusts-nothing` for a
 *   configuration that may not be touched; `bad-change` for changes that make no sense.
 */
export function renderStage(
  config: string,
  changes: readonly Change[],
  stage: RenderStage,
  options: RenderOptions,
): string {
  return render(accessOf(config, options.where, knownOf(changes)), changes, stage, options);
}

/** Where a configuration stands for one change; {@link explainStage} gives the reason for `Foreign`. */
export function stageOf(config: string, change: Change, where?: string): StageName {
  return explainStage(config, change, where).stage;
}

/**
 * Where a configuration stands for one change, with the reason where it is `Foreign`.
 *
 * @throws {MachineConfigError} for text that is no machine configuration, and for broken certificates and keys.
 */
export function explainStage(config: string, change: Change, where?: string): Standing {
  return rendererOf(change).stand(accessOf(config, where, knownOf([change])), change);
}

/**
 * What in a configuration differs from what a stage of these changes expects,
 * field by field, for people: fingerprints and names, never key bytes. Empty
 * where the configuration is at the stage.
 */
export function drift(config: string, changes: readonly Change[], stage: RenderStage, where?: string): DriftItem[] {
  return driftOf(accessOf(config, where, knownOf(changes)), changes, stage);
}

function driftOf(access: Access, changes: readonly Change[], stage: RenderStage): DriftItem[] {
  return inRenderingOrder(access, changes).flatMap((change) =>
    rendererOf(change)
      .drift(access, change, stage)
      .map((item) => ({ target: change.target, ...item })),
  );
}
