// Public: the lab and who asks it.
export { askLab, readLogs } from './control-client.ts';
export { type DemoOptions, type DemoResult, runDemo } from './demo/demo.ts';
export { demoSummary } from './demo/summary.ts';
export { type FaultInForce, LAB_FAULTS, type LabFault } from './faults.ts';
export { checkLabOptions, type Lab, type LabOptions, startLab } from './lab.ts';
export { isReleased, readLabRecord, releaseDirectory } from './lab-directory.ts';
export { LabError, type LabErrorKind } from './lab-error.ts';
export { type Launched, launchLab } from './launch.ts';
export type { LogLine } from './logs.ts';
export { type Rehearsal, type RehearsalOptions, readRehearsal } from './rehearsal.ts';
export { type OpenLab, openLab, type RunLabOptions, runLab } from './run-lab.ts';
export type { LabStatus, MachineStatus } from './status.ts';
